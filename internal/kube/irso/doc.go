// Package irso finds Ironic by its Ironic resource, which ironic-standalone-operator (IrSO)
// keeps: IRONIC_NAME, as BMO reads it. The resource says whether Ironic is ready and speaks
// TLS, and names the Secrets that say who we are and whom to trust.
//
// It needs the right to get that one resource and these Secrets, by name. They are read every
// ten seconds, so a change needs no restart. What was found last counts until something else
// is found: while the resource or the API server is away, Ironic itself may well answer.
package irso
