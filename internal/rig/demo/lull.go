package demo

import "time"

// lull measures for how long nothing has changed, which tells what hangs from what is
// slow: no time is enough for a storm on a machine that others use too.
type lull struct {
	seen  any
	since time.Time
}

// lasts returns for how long seen has been the same, which must be comparable.
func (l *lull) lasts(now time.Time, seen any) time.Duration {
	if l.since.IsZero() || seen != l.seen {
		l.seen, l.since = seen, now
	}
	return now.Sub(l.since)
}
