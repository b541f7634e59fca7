// Package ironic speaks to OpenStack Ironic, and only reads.
//
// It holds Ironic's words (provision states, targets, the Node as far as we use it), a Client on gophercloud that pages
// and filters the way a real Ironic needs it, and the Poller, which shows a View one Observation after another.
//
// What a real Ironic does is in docs/dev/reference/ironic.md, what the throttle makes of it in docs/behaviour.md.
package ironic
