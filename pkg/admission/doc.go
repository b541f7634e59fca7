// Package admission decides: may this host start now?
//
// An ask by HTTP (IsReady) and a PUT through the gateway (Forward) go the same way (decide.go):
//
//	identify  who asks, and what the cluster says of that host (cluster.go)
//	gather    all that the answer depends on, in one flat struct: facts
//	enqueue   gives the host its place in line, on which the answer depends, or takes it away
//	evaluate  the first rule that applies gives the reason and its numbers; it reads only the facts
//	apply     writes slot and permit (ask.go)
//
// A dry run leaves out enqueue and apply. words.go puts reason and numbers into sentences.
//
// The poller reports what Ironic shows through ironic.View (poll.go). When pkg/slots finds that work or a slot begins
// or ends, it calls follow (follow.go), which tells breakers and holds (failures.go) and the order (pkg/fairshare).
//
// Each host has one record, slots.Host. The Controller has one lock. It reads no clock and starts no goroutine: the
// caller passes the time.
package admission
