// Package demo plays a storm in one process: a fake Ironic on a loopback socket, a fake BMO that wants all hosts
// provisioned at once, and the throttle between them.
//
//	bmo ──"may it start?"──► app (throttle) ──polls──► fakeironic
//	   └───────────────GET, PUT states/provision──────────────►│
//
// or, with an operator that does not know the throttle:
//
//	bmo ──GET, PUT states/provision──► app (gateway) ──what may pass──► fakeironic
//
// One speed divides all durations of hosts. It does not shorten the times that keep the limit on a slow machine: see
// settings.
package demo
