package slots

import (
	"math"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// moment is a time of the ledger's clock: nanoseconds since a century before its
// start. So the zero moment, never, is longer ago than any setting. It has a third of
// the size of a time.Time and no pointer, and each host keeps several.
type moment int64

const (
	century = 100 * 365 * 24 * time.Hour

	never   moment = 0
	started        = moment(century)
)

// moment returns t on the ledger's clock. What is more than a century before the start
// is never; nothing is later than 192 years after it.
func (l *Ledger) moment(t time.Time) moment {
	return moment(max(0, min(t.Sub(l.start), math.MaxInt64-century)+century))
}

// since is the time from earlier to m.
func (m moment) since(earlier moment) time.Duration { return time.Duration(m - earlier) }

// add returns the moment d after m.
func (m moment) add(d time.Duration) moment { return m + moment(d) }

// passed reports whether d has gone by between since and at.
func passed(since, at moment, d time.Duration) bool { return at.since(since) >= d }

// beyond reports whether more than d has gone by.
func beyond(since, at moment, d time.Duration) bool { return at.since(since) > d }

// mark is an ironic.Mark on the ledger's clock.
type mark struct {
	seq uint64
	at  moment
}

func (l *Ledger) mark(m ironic.Mark) mark { return mark{seq: m.Seq, at: l.moment(m.At)} }
