// Package ironic reads OpenStack Ironic.
//
// It has Ironic's words (provision states, targets, the fields of a node that the throttle uses), a Client on
// gophercloud that pages and filters as a real Ironic needs it, and the Poller, which gives a View its Observations.
//
// docs/dev/reference/ironic.md says what a real Ironic does, docs/behaviour.md how the throttle reacts.
package ironic
