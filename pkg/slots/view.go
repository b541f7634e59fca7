package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// view is what the complete polls have shown as a whole: since when, and how well.
type view struct {
	polls   uint64
	takenAt time.Time     // when the last poll began
	took    time.Duration // what polls take of late
	whole   mark          // the last poll that showed more than the busy; seq 0: none yet
	settled bool          // LH-24
	// brokeSeq is when the last poll failed.
	brokeSeq uint64
	// listsOutdated: something other than the lists shows that these are no longer true.
	listsOutdated bool
}

// add notes a complete poll begun at mark.
func (v *view) add(now time.Time, o ironic.Observation, mark mark, settle time.Duration) {
	if o.Whole {
		v.whole = mark
	}
	v.polls++
	v.took = max(now.Sub(o.Mark.At), v.took/2)
	if o.Mark.At.After(v.takenAt) {
		v.takenAt = o.Mark.At
	}
	if !o.Unchanged && passed(started, mark.at, settle) {
		v.settled = true
	}
}

// stale reports whether the view is too old for a yes to a host without a slot (LH-17). It
// may be MAX_STALE old, and twice what polls take of late: Ironic is not away because they
// are slow, and a view is as old as its poll took when it comes, and as old as two polls when
// the next one comes. Our own slots are exact at any age; an old view lacks work that others
// have begun, so there is an upper bound.
func (v *view) stale(now time.Time, maxStale time.Duration) bool {
	const most = 4 // times MAX_STALE
	return v.polls == 0 || now.Sub(v.takenAt) > min(maxStale+2*max(0, v.took), most*maxStale)
}

// PollFailed notes that a poll could not be completed. It ends nothing and makes the view no
// younger.
func (l *Ledger) PollFailed(now time.Time) {
	l.tick(now)
	l.view.brokeSeq = l.stamp()
}

// Ready reports whether a host without a slot could get a yes at all: Open, or
// Stale or Starting, and how long that may last.
func (l *Ledger) Ready(now time.Time) (Outcome, time.Duration) {
	l.tick(now)
	switch {
	case l.view.polls > 0 && l.view.stale(l.now, l.cfg.MaxStale):
		return Stale, 0
	case !l.view.settled:
		return Starting, max(0, l.cfg.Settle-l.now.Sub(l.start))
	}
	return Open, 0
}

// SettlesIn returns after which time a complete poll must begin to end the settle (LH-24);
// false when it is that time already, or over.
func (l *Ledger) SettlesIn(now time.Time) (time.Duration, bool) {
	l.tick(now)
	left := l.cfg.Settle - l.now.Sub(l.start)
	return left, !l.view.settled && left > 0
}

// View shows how current the ledger's view of Ironic is.
func (l *Ledger) View(now time.Time) api.View {
	l.tick(now)
	v := api.View{Fresh: !l.view.stale(l.now, l.cfg.MaxStale), Settled: l.view.settled, AgeSeconds: -1, Polls: l.view.polls}
	if l.view.polls > 0 {
		v.AgeSeconds = l.now.Sub(l.view.takenAt).Seconds()
		v.TakenAt = l.view.takenAt
	}
	for h := range l.live {
		if h.busy(l.cfg.CountExtra) {
			v.BusyNodes++
		}
	}
	return v
}

// Whole reports whether the next poll is to show more than the busy: who has failed, so
// that a node which fails later is known to have failed since, and who is in a service or
// hold state, for it is adopted. That is so until all that the process before said yes to
// is known (LH-24), and again from time to time: a failure is remembered for as long as
// these lists show it.
func (l *Ledger) Whole(now time.Time) bool {
	l.tick(now)
	return !l.view.settled || passed(l.view.whole.at, l.at, forgetAfter)
}
