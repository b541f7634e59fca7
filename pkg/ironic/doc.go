// Package ironic speaks to OpenStack Ironic, and only reads.
//
// It holds Ironic's words (provision states, targets, the Node as far as we use it), a client on gophercloud that pages
// and filters the way a real Ironic needs it, and the Poller, which turns Ironic into one Observation after another.
//
// A Client is what to ask with: Client.List for everything in one state, Client.Node for one node. A Poller is what to
// watch with: it reads all busy states again and again and shows each complete Observation to a View.
//
// What a real Ironic does is in docs/dev/reference/ironic.md, what the throttle makes of it in docs/behaviour.md.
package ironic
