package ironic

import "time"

// View takes in what the Poller reads. The Poller calls its methods one after the other, from one goroutine.
type View interface {
	// Begin returns a mark that is later than everything that happened so far.
	Begin(now time.Time) Mark
	// Whole reports, once at the start of each poll, whether the poll has to read all lists: those of busy nodes, and
	// those of nodes in failed, service and hold states.
	Whole(now time.Time) bool
	// Hurries reports whether a host waits for a slot that may come free, so that the next poll should come soon.
	Hurries(now time.Time) bool
	// Fetch returns the nodes, by UUID or name, that the poll has to fetch one by one, after it has read observed. A
	// fetch may fail: then Observe gets no answer for that node.
	Fetch(now time.Time, observed *Observation) []string
	// Observe takes in a complete poll.
	Observe(now time.Time, observed Observation)
	// PollFailed notes that a poll did not complete.
	PollFailed(now time.Time, err error)
}
