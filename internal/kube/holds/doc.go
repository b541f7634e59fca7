// Package holds keeps the ledger of failed hosts in ConfigMaps, for several replicas
// of which one leads (docs/replicas.md). Where there is one replica, a
// file does (internal/holdfile).
//
// # What is written
//
// Eight ConfigMaps, <name>-0 to <name>-7; the hash of its node's UUID says in which one
// a host's record is. Each has one key: holds.jsonl, a line for each host, or
// holds.jsonl.gz, the same compressed, where that would have more than 256 KiB. What
// could not be read when the ledger was opened is kept beside, in unreadable.gz, until
// something else cannot be read. Where even the compressed records do not fit into 1 MiB,
// those are left out whose hold was released, or has begun the longest time ago.
//
// The first one has what is known of limits under a key of its own, limits.json, where there
// is room beside the holds. What cannot be read there stays as it is until it is replaced. A program
// of before that reads the holds, and drops the key as it takes them over.
//
// # Who writes
//
// The annotation ironic-throttle.metal3.io/writer names the Map that has written last, by
// its pod and a random text. Open writes all eight, if only to put its own name there: from
// then on every write of an earlier leader that was paused meets a newer resourceVersion and
// another name, and is not repeated (ErrTakenOver). A newer resourceVersion under our own
// name, or none, is a label that somebody has set, a write of ours whose answer was lost, or
// an edit by hand, which is written over: by a Save where it writes, by Look in the others,
// one at a time. A process that was paused in the midst of Open would put its name over that
// of the leader of now: so each write is preceded by a question whether we lead
// (Options.Leading).
//
// Without an election two processes that both decide are a mistake, or a rollout that
// begins the new pod before the old one is gone. The newer one has the ledger; Look tells
// the older one, which ends, long before the newer one says its first yes. Begun anew, the
// older pod finds its own name in the annotation writer-before, and leaves the ledger to
// the newer one for three minutes, by when a rollout has deleted it.
//
// All that is done to the eight is done side by side, and one that is broken or slow holds
// up none of the others. Of configmaps in the namespace that takes get and update of the
// eight by name, and create, which RBAC cannot bind to a name; create may be left away where
// the eight are there already: empty ones count as a ledger that nobody has written yet.
package holds
