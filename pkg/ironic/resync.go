package ironic

import "time"

// resyncEvery is how long the lists of the busy states are not read while the newest changes show all that happens; where nothing
// happens, twice as long.
const resyncEvery = time.Minute

// Resync says what a poll reads beyond the page of the nodes that changed last. The zero value is that of a Poller
// that has read nothing. It is pure; Poller has one, and so have models of it.
type Resync struct {
	at     time.Time // of the poll that read the lists last; zero: none since the start or a failure
	newest string    // stamp of the newest change in the poll before
	listed string    // … of the poll that read the lists last
}

// Failed notes that a poll was not completed.
func (r *Resync) Failed() { *r = Resync{} }

// Due reports whether the poll that began at now and has read page, the newest change first, must read the lists of
// the busy states too, listed, and those of failed, service and hold states, whole: the first one, one after a
// failure, and where somebody wants it. One a minute, and one whose page does not reach back to the poll before, reads
// the lists of the busy states; where nothing has changed since, one in two minutes does. A page of all nodes there are
// makes all that needless.
func (r *Resync) Due(now time.Time, page []Node, all, wanted bool) (listed, whole bool) {
	whole = wanted || r.at.IsZero()
	reached := reaches(page, r.newest)
	r.newest = ""
	if len(page) > 0 {
		r.newest = page[0].ProvisionUpdatedAt
	}
	every := resyncEvery
	if r.newest == r.listed {
		every *= 2
	}
	listed = whole || now.Before(r.at) || now.Sub(r.at) >= every || !reached
	if listed || all {
		r.at, r.listed = now, r.newest
	}
	return listed && !all, whole && !all
}

// reaches reports whether a page shows every change since the one with that stamp. A change in the same second as the
// last row may be missing, as MySQL keeps whole seconds. A database that sorts nodes that never changed first shows
// none.
func reaches(page []Node, newest string) bool {
	if len(page) == 0 || page[0].ProvisionUpdatedAt == "" {
		return false
	}
	last := page[len(page)-1].ProvisionUpdatedAt
	if last == "" {
		return true // all that ever changed
	}
	oldest, err := time.Parse(time.RFC3339, last)
	before, errBefore := time.Parse(time.RFC3339, newest)
	return err == nil && errBefore == nil && oldest.Before(before)
}
