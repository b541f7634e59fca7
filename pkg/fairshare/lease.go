package fairshare

import "time"

// End is how a slot ended.
type End uint8

// The ends.
const (
	Finished End = iota
	// Unused: the host never began to work (LH-12). It has its old key when it asks
	// again; its tenant has paid.
	Unused
	// Refunded: Ironic refused the request that the slot was for (GW-5). It has its
	// old key when it asks again, and its tenant gets back what it paid.
	Refunded
)

// occupy makes h hold a slot.
func (s *Scheduler) occupy(h *Host) {
	if h.stake == nil {
		h.stake = &stake{}
	}
	h.state, h.lease = Holding, lease{since: s.age()}
	h.t.holding++
	s.lane[h.lane].holding++
}

// Hold makes h hold a slot that was not granted here: its node was found at work.
// With errors Unknown it counts as failing until Told. Nobody pays for it.
func (s *Scheduler) Hold(now time.Time, h *Host, errors int) {
	s.tick(now)
	if h.state == Holding {
		return
	}
	s.Leave(now, h)
	s.join(h)
	h.errors, h.lane = clampErrors(errors), s.laneOf(errors)
	if errors == Unknown {
		h.lane = Failing
	}
	s.occupy(h)
	h.unknown = errors == Unknown
	s.place(h.t)
}

// Told gives the errors of a host that holds a slot and whose errors are unknown.
func (s *Scheduler) Told(h *Host, errors int) {
	if h.state != Holding || !h.unknown {
		return
	}
	s.lane[h.lane].holding--
	h.unknown, h.errors, h.lane = false, clampErrors(errors), s.laneOf(errors)
	s.lane[h.lane].holding++
}

// Release ends the slot of h. Finished, it is Absent afterwards, and else Parked,
// if it had a key.
func (s *Scheduler) Release(now time.Time, h *Host, how End) {
	s.tick(now)
	if h.state != Holding {
		return
	}
	granted, held := h.granted, s.age()-h.since
	s.vacate(h)
	switch {
	case !granted || how == Finished:
		if granted {
			s.held(held)
		}
		s.forget(h)
		return
	case how == Refunded:
		s.refund(h.t, h.charge)
		s.moves++
	}
	h.state, h.stake, h.entered = Parked, nil, s.age() // a new wait, with the old key
	s.parked++
}

// vacate takes the slot from h, which stays a host of its tenant.
func (s *Scheduler) vacate(h *Host) {
	if h.slots > 0 {
		s.planned -= h.slots
	} else {
		s.lane[h.lane].holding--
	}
	h.t.holding--
	h.lease = lease{}
}

// join makes h, which is Absent, a host of its tenant.
func (s *Scheduler) join(h *Host) {
	h.t = s.tenant(h.Tenant(), s.cfg.quantum(h.Tenant()))
	h.t.hosts++
}

// forget makes h Absent: it has left the queue or its slot.
func (s *Scheduler) forget(h *Host) {
	t := h.t
	h.state, h.t, h.seq, h.key = Absent, nil, 0, 0
	h.asked, h.losses = false, 0
	h.stake = nil
	t.hosts--
	s.place(t)
}

// Suspend takes a host out of the queue that must not have a slot now: held, paused,
// or stopped by a breaker. A call is refunded. Its next Ask gives it its old place.
func (s *Scheduler) Suspend(now time.Time, h *Host) {
	s.tick(now)
	s.withdraw(h)
}

// Leave forgets h, which wants nothing any more. A call is refunded, a slot ends.
func (s *Scheduler) Leave(now time.Time, h *Host) {
	s.tick(now)
	switch h.state {
	case Absent:
		return
	case Holding:
		s.vacate(h)
	default:
		s.withdraw(h)
		s.parked--
	}
	s.forget(h)
}

// AskPlanned asks for n slots for planned work of h, which only goes when nobody
// else wants to: nobody waits or is called, a reserve of max(1, ceil(L/10)) stays
// free, and planned work holds at most max(1, L/4) slots (DC-24, DC-25). With a yes
// h holds them at once; Release gives them all back.
func (s *Scheduler) AskPlanned(now time.Time, free int, h *Host, n int) bool {
	s.tick(now)
	s.expire()
	s.look(free)
	if h.state != Absent || n < 1 || s.waiting()+s.calls.live > 0 ||
		s.free < n+max(1, ceilDiv(s.cfg.Limit, 10)) || s.planned+n > max(1, s.cfg.Limit/4) {
		return false
	}
	s.join(h)
	h.t.holding++
	h.state, h.lane = Holding, Planned
	h.stake = &stake{lease: lease{since: s.age(), slots: n}}
	s.planned += n
	s.stats.Grants[Planned]++
	s.granted = s.now
	s.place(h.t)
	s.look(s.free - n)
	return true
}
