package ironic

import "time"

// resyncEvery is how often a poll reads the lists of the busy states, though the newest changes showed all changes.
const resyncEvery = time.Minute

// Resync decides which lists a poll reads beside the page of the nodes that changed last. The zero value is that of a
// Poller that has read nothing. It has no clock, so that simulations of a Poller can use it too.
type Resync struct {
	at     time.Time // when the last poll that read lists began; zero: there is none since the start or a failure
	newest string    // the newest provision_updated_at of the poll before
	listed string    // the newest provision_updated_at of the last poll that read lists
}

// Failed notes that a poll did not complete.
func (r *Resync) Failed() { *r = Resync{} }

// Due decides for the poll that began at now and has read page, the newest change first. listed: it has to read the
// lists of the busy states, once a minute, or in two minutes without a change, and if page does not reach back to the
// poll before. whole: it has to read all lists, as the first poll, after a failure, and if wanted. all: page has all
// nodes, so no list is needed.
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

// reaches reports whether page shows every change since newest. It must reach back to before newest, as MySQL keeps
// whole seconds, and a change in the second of the last row may be missing. PostgreSQL sorts nodes that never changed
// first, so that the page may show no change at all.
func reaches(page []Node, newest string) bool {
	if len(page) == 0 || page[0].ProvisionUpdatedAt == "" {
		return false
	}
	last := page[len(page)-1].ProvisionUpdatedAt
	if last == "" {
		return true // the page has all nodes that ever changed
	}
	oldest, err := time.Parse(time.RFC3339, last)
	before, errBefore := time.Parse(time.RFC3339, newest)
	return err == nil && errBefore == nil && oldest.Before(before)
}
