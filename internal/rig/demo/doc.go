// Package demo plays a storm in one process: a fake Ironic on a loopback socket,
// a fake BMO that wants all hosts provisioned at once, and the throttle between them.
//
//	bmo ──"may it start?"──► app (throttle) ──polls──► fakeironic
//	   └───────────────GET, PUT states/provision──────────────►│
//
// or, with an operator that knows nothing of the throttle:
//
//	bmo ──GET, PUT states/provision──► app (gateway) ──what may pass──► fakeironic
//
// All durations of hosts are divided by one speed. What protects the limit
// against a slow machine is not squeezed along: see settings.
package demo
