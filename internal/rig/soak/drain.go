package soak

import (
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// patience is how long a host may wait for its end once nothing goes wrong any more: holds of 15 minutes,
// breakers that probe, and a limit of 1, all one after the other.
const patience = 8 * time.Hour

// drain ends all faults, lets every host come to its end, and then looks for what nobody gives back.
func (w *world) drain() {
	if w.broken != "" {
		return
	}
	w.quiet = true
	w.away = w.at
	w.cfg.MaxFailed, _ = holdoff.ParseQuota("100%")
	w.tellf("nothing goes wrong any more")
	for _, r := range w.replicas {
		r.noAPI, r.noIronic = 0, 0
		r.after(0, r.reload)
	}
	for _, h := range w.hosts {
		h.planned = h.planned && w.leavesRoom(h)
		if h.exists {
			_ = w.ironic.Befall(w.now(), h.uuid, fakeironic.FateHeal)
		}
	}
	for end := w.at + patience; w.broken == "" && w.left() != ""; w.until(w.at + 30*time.Second) {
		if w.at >= end {
			w.failf("after %v of quiet not all hosts came to their end: %s", patience, w.left())
		}
	}
	w.ending = true
	long := w.seed%8 == 0 // a silent host is forgotten after an hour, at every 64th poll
	if w.until(w.at + 10*time.Minute); long {
		w.until(w.at + 80*time.Minute)
	}
	if w.broken == "" {
		w.leaks(long)
	}
}

// leavesRoom reports whether planned work of h can ever start: one slot must stay free besides. The
// plan of others is given up.
func (w *world) leavesRoom(h *host) bool {
	l := w.cfg.Slots.Limits
	group, limited := l.Groups[h.group]
	return !w.cfg.Adaptive && l.Total > 1 && (!limited || group > 1) && (!h.virtual || l.VirtualMedia != 1)
}

// left names the hosts that have not come to their end.
func (w *world) left() (names string) {
	for _, h := range w.hosts {
		if n, _ := w.node(h.uuid); !h.done() || working(n) {
			names += fmt.Sprintf("host %d wants %s, is %q, was told %q %v ago; ",
				h.n, h.op(), n.State, h.last, (w.at - h.lastSaid).Round(time.Second))
		}
	}
	return names
}

// leaks looks for what is left where nothing is to be: slots, unsaved holds, permits, and after
// long places in queues.
func (w *world) leaks(long bool) {
	leads, gone := 0, 0
	for _, h := range w.hosts {
		// Who is refused and never asks again may keep its place for ever while nobody asks: its node was made
		// again, or the work that an earlier leader let it start has ended well meanwhile.
		if gone += h.life; !h.last.Yes() {
			gone++
		}
	}
	for _, r := range w.replicas {
		if !r.up || !r.begun {
			continue
		}
		leads++
		s := r.c.Status(r.clock())
		total, occupants := s.Slots.Total, len(s.Slots.Occupants)
		if total.Occupied != 0 || total.Booting != 0 || long && total.Waiting > gone || occupants != 0 {
			w.failf("slots or places are lost: %+v, %d occupants", total, occupants)
		}
		for name, p := range s.Slots.Pools {
			if p.Occupied != 0 || long && p.Waiting > gone {
				w.failf("slots or places of %s are lost: %+v", name, p)
			}
		}
		if !s.View.Fresh || !s.View.Settled {
			w.failf("the view is not fresh: %+v", s.View)
		}
		for _, b := range s.Breakers {
			w.closedLaw(r, b)
			if b.ConcurrentInstances != 0 || b.Probes != 0 {
				w.failf("permits of the breaker %s are lost: %d, %d probes", b.Scope, b.ConcurrentInstances, b.Probes)
			}
		}
		if n := r.c.Holds(r.clock()).Unsaved; n != 0 {
			w.failf("%d holds are not saved", n)
		}
	}
	if leads != 1 {
		w.failf("%d replicas lead when all is quiet", leads)
	}
}
