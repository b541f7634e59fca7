package slots

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// NoticeKind names something that happened to a slot and that an operator may
// want to read of.
type NoticeKind string

// The notices.
const (
	NoticeExpired  NoticeKind = "expired"  // a lease was never used (LH-12)
	NoticeVanished NoticeKind = "vanished" // the node left Ironic (LH-23)
	NoticeAdopted  NoticeKind = "adopted"  // found busy after our start (LH-24)
	NoticeForeign  NoticeKind = "foreign"  // busy without having asked us (LH-11)
	NoticeStuck    NoticeKind = "stuck"    // written off (LH-33)
	NoticeMoved    NoticeKind = "moved"    // written off before, counts again
	// NoticeAbandoned: its conductor lost its work, nobody goes on with it.
	NoticeAbandoned NoticeKind = "abandoned"
)

// Notice is one such event.
type Notice struct {
	Kind  NoticeKind
	ID    ID
	State ironic.State
	Op    api.Op
}

func (l *Ledger) note(kind NoticeKind, h *host) {
	l.notices = append(l.notices, Notice{Kind: kind, ID: h.id, State: h.seen.state, Op: h.op})
}

// Notices returns what has happened since the last call, sorted by kind and host
// within one look.
func (l *Ledger) Notices() []Notice {
	out := l.notices
	l.notices = nil
	slices.SortStableFunc(out, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID.UUID, b.ID.UUID), cmp.Compare(a.ID.Name, b.ID.Name))
	})
	return out
}

// Slots returns the numbers of the total.
func (l *Ledger) Slots(now time.Time) api.Slots {
	l.tick(now)
	l.refreshStuck()
	return l.slotsOf(pool{})
}

// Totals returns the counts since the start.
func (l *Ledger) Totals() api.Totals { return l.totals }

// Ready tells whether a host without a slot could get a yes at all: Open, or
// Stale or Starting, and how long that may last.
func (l *Ledger) Ready(now time.Time) (Outcome, time.Duration) {
	l.tick(now)
	return l.open()
}

// SettlesIn returns after which time a complete look must begin to end the settle (LH-24);
// false when it is that time already, or over.
func (l *Ledger) SettlesIn(now time.Time) (time.Duration, bool) {
	l.tick(now)
	left := l.cfg.Settle - l.now.Sub(l.start)
	return left, !l.settled && left > 0
}

// View tells how well the ledger sees Ironic.
func (l *Ledger) View(now time.Time) api.View {
	l.tick(now)
	v := api.View{Fresh: !l.stale(), Settled: l.settled, AgeSeconds: -1, Polls: l.looks}
	if l.looks > 0 {
		v.AgeSeconds = l.now.Sub(l.lookAt).Seconds()
		v.TakenAt = l.lookAt
	}
	for h := range l.live {
		if h.busy(l.cfg.CountExtra) {
			v.BusyNodes++
		}
	}
	return v
}

// Occupancy shows every pool and everybody who holds a slot or is at work,
// oldest first.
func (l *Ledger) Occupancy(now time.Time) api.SlotsView {
	view := api.SlotsView{Total: l.Slots(now), Pools: map[string]api.Slots{}, Occupants: []api.Occupant{}}
	for g := range l.cfg.Groups {
		view.Pools[g] = l.slotsOf(pool{group: g})
	}
	if l.cfg.VirtualMedia > 0 {
		view.Pools[VirtualMediaPool] = l.slotsOf(pool{class: virtual})
	}
	for h := range l.live {
		view.Occupants = append(view.Occupants, l.occupant(h))
	}
	slices.SortFunc(view.Occupants, func(a, b api.Occupant) int {
		return cmp.Or(cmp.Compare(b.SinceSeconds, a.SinceSeconds), cmp.Compare(a.NodeUUID, b.NodeUUID), cmp.Compare(a.Name, b.Name))
	})
	return view
}

func (l *Ledger) occupant(h *host) api.Occupant {
	o := api.Occupant{
		NodeUUID: h.id.UUID, Name: h.id.Name, Op: h.op, State: string(h.seen.state),
		Busy: h.busy(l.cfg.CountExtra), Stuck: h.off, Counted: h.holds() && !h.off,
	}
	p := h.pool
	if h.holds() {
		o.Kind, o.SinceSeconds = h.origin.String(), l.at.since(h.sinceAt).Seconds()
	} else {
		p, _ = l.poolFor(h, "", false)
		o.Kind = "booting"
		if h.job != nil {
			o.SinceSeconds = l.at.since(h.stillSince).Seconds()
		}
		if p.class == exempt {
			o.Kind = "exempt"
		}
	}
	if p.class != exempt {
		o.Pool = p.name()
	}
	if from := l.stuckFrom(h); from != never && from <= l.at {
		o.Stuck = true
	}
	o.Abandoned = l.abandoned(h)
	return o
}

// SlotsFor returns the numbers of the pool that v's host competes in, as they
// are now.
func (l *Ledger) SlotsFor(v Verdict) api.Slots { return l.slotsOf(v.pool) }
