// Package admission makes the one decision: may this host start now?
//
// An ask by HTTP (IsReady) and a PUT through the gateway (Forward) go the same way (decide.go):
//
//	identify  who asks, and what the cluster says of that host (cluster.go)
//	gather    all that the answer depends on, in one flat struct: facts
//	enqueue   gives the host its place in line, which the answer depends on, or takes that away
//	evaluate  the first rule that applies gives the reason and its numbers; it reads the facts alone
//	apply     writes slot and permit (ask.go)
//
// A dry run leaves out enqueue and apply. words.go puts reason and numbers into sentences.
//
// What Ironic shows comes in by the methods of ironic.View (poll.go). pkg/slots finds what has started and ended and
// tells it at once (follow.go): to breakers and holds (failures.go) and to the order (pkg/fairshare).
//
// There is one record of each host, slots.Host, and one lock, the Controller's. It reads no clock and starts no
// goroutine: now is an argument.
package admission
