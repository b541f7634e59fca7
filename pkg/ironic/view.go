package ironic

import "time"

// View is what the Poller needs of whoever keeps the view. Methods are called from the Poller's goroutine, one after
// the other.
type View interface {
	// Begin returns a mark that is later than everything that happened so far.
	Begin(now time.Time) Mark
	// Whole reports, once at the start of each poll, whether it is to read all lists: of busy nodes, and of those in
	// failed, service and hold states.
	Whole(now time.Time) bool
	// Hurries reports whether somebody waits for a slot that may come free, so that the next poll should come soon.
	Hurries(now time.Time) bool
	// Fetch names the nodes, by UUID or name, that a poll fetches alone after it has observed so much. What it does
	// not show proves nothing. A fetch that fails costs no more than that.
	Fetch(now time.Time, observed *Observation) []string
	// Observe takes a complete poll.
	Observe(now time.Time, observed Observation)
	// PollFailed notes that a poll could not be completed: it ends nothing and does not make the view younger.
	PollFailed(now time.Time, err error)
}
