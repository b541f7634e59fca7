package slots

import (
	"math"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// clock is the time of a ledger and the counter that numbers its events. It never goes back.
type clock struct {
	start time.Time
	now   time.Time // the latest now that was passed in
	at    moment    // the same
	seq   uint64
	born  uint64 // seq at the start: marks up to it are of an earlier term (LH-24)
}

// Begin returns a mark later than everything that has happened (LH-15).
func (c *clock) Begin(now time.Time) ironic.Mark {
	c.tick(now)
	return ironic.Mark{Seq: c.stamp(), At: c.now}
}

// tick moves the clock on to now, unless that is earlier.
func (c *clock) tick(now time.Time) {
	if now.After(c.now) {
		c.now, c.at = now, c.moment(now)
	}
}

// stamp numbers an event.
func (c *clock) stamp() uint64 {
	c.seq++
	return c.seq
}

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
func (c *clock) moment(t time.Time) moment {
	return moment(max(0, min(t.Sub(c.start), math.MaxInt64-century)+century))
}

// timeOf is the time at m, which is a moment of this clock.
func (c *clock) timeOf(m moment) time.Time { return c.now.Add(-c.at.since(m)) }

// since is the time from earlier to m.
func (m moment) since(earlier moment) time.Duration { return time.Duration(m - earlier) }

// add returns the moment d after m.
func (m moment) add(d time.Duration) moment { return m + moment(d) }

// passed reports whether at is d or more after since.
func passed(since, at moment, d time.Duration) bool { return at.since(since) >= d }

// beyond reports whether at is more than d after since.
func beyond(since, at moment, d time.Duration) bool { return at.since(since) > d }

// mark is an ironic.Mark on the ledger's clock.
type mark struct {
	seq uint64
	at  moment
}

func (c *clock) mark(m ironic.Mark) mark { return mark{seq: m.Seq, at: c.moment(m.At)} }
