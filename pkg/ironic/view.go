package ironic

import "time"

// View is what the Poller needs of whoever keeps the view. Methods are called
// from the Poller's goroutine, one after the other.
type View interface {
	// Begin returns a mark that is later than everything that happened so far.
	Begin(now time.Time) Mark
	// Waits reports whether anything waits for an observation begun from now on, so
	// that the lists must be read whatever a probe says (GC-19).
	Waits(now time.Time) bool
	// Whole reports, once at the begin of each poll, whether the poll is to show more than
	// the busy nodes: those in failed, service and hold states too.
	Whole(now time.Time) bool
	// Missing names the nodes that must be fetched alone before a poll whose
	// lists showed nodes is complete. Keys are UUIDs or names.
	Missing(now time.Time, nodes []Node) []string
	// Wanted names up to 20 further nodes that somebody asked about.
	// A fetch of one of these may fail without failing the poll.
	Wanted(now time.Time) []string
	// Observe takes a complete poll.
	Observe(now time.Time, observed Observation)
	// PollFailed notes that a poll could not be completed: it ends nothing and
	// does not make the view younger.
	PollFailed(now time.Time, err error)
}

// Hurry is who may be in a hurry to know that a node has left its work. Methods are called
// from the Poller's goroutine.
type Hurry interface {
	// Hurries reports whether a slot that comes free would be given before the next poll.
	Hurries(now time.Time) bool
	// Left names the nodes that hold a slot and that rows, of those that changed last, show
	// outside of work.
	Left(now time.Time, rows []Change) []string
	// ObserveNode takes the answer to one fetch.
	ObserveNode(now time.Time, s NodeObservation)
}
