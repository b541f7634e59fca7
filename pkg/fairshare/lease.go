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

// Hold makes h hold a slot that was not granted here: its node was found at work.
// With errors Unknown it counts as failing until RecordErrors. Nobody pays for it.
func (s *Scheduler) Hold(now time.Time, h *Host, errors int) {
	s.tick(now)
	if h.state == Holding {
		return
	}
	s.Leave(now, h)
	s.join(h)
	h.errors, h.lane = s.weigh(errors)
	if errors == Unknown {
		h.lane = Failing
	}
	h.stake = &stake{lease: lease{slots: 1, since: s.now, unknown: errors == Unknown}}
	s.move(h, Holding)
}

// RecordErrors gives the errors of a host that holds a slot and whose errors were Unknown
// to Hold. Of any other host it changes nothing.
func (s *Scheduler) RecordErrors(h *Host, errors int) {
	if h.state != Holding || !h.unknown {
		return
	}
	s.lane[h.lane].holding--
	h.unknown = false
	h.errors, h.lane = s.weigh(errors)
	s.lane[h.lane].holding++
}

// Release ends the slot of h. Finished, it is Absent afterwards, and else Parked,
// if it had a key.
func (s *Scheduler) Release(now time.Time, h *Host, how End) {
	s.tick(now)
	switch {
	case h.state != Holding:
		return
	case !h.granted:
		s.forget(h)
		return
	case how == Finished:
		s.recordHeld(s.now - h.since)
		s.forecast.held[h.kind].add(s.now - h.since)
		s.forget(h)
		if !s.forecast.known { // else the next ask does, after a moment
			s.foresee()
		}
		return
	case how == Refunded:
		s.refund(h.t, h.charge)
		s.moves++
	}
	s.move(h, Parked)
	h.stake, h.entered = nil, s.now // a new wait, with the old key
}

// Suspend takes a host out of the queue that must not have a slot now: held, paused,
// or stopped by a breaker. A call is refunded. Its next ask gives it its old place.
func (s *Scheduler) Suspend(now time.Time, h *Host) {
	s.tick(now)
	s.withdraw(h)
	if h.state == Parked && !h.stopped {
		s.stopped++
		h.stopped = true
	}
}

// Leave forgets h, which wants nothing any more. A call is refunded, a slot ends.
func (s *Scheduler) Leave(now time.Time, h *Host) {
	s.tick(now)
	if h.state != Absent {
		s.withdraw(h)
		s.forget(h)
	}
}

// join makes h, which is Absent, a host of its tenant.
func (s *Scheduler) join(h *Host) {
	name := h.Tenant()
	if h.t = s.tenants[name]; h.t == nil {
		h.t = &tenant{name: name, quantum: s.cfg.quantum(name), eligible: -1}
		s.tenants[name] = h.t
	}
	h.t.hosts++
}

// forget makes h Absent, which is parked or holds a slot.
func (s *Scheduler) forget(h *Host) {
	s.move(h, Absent)
	t := h.t
	h.t, h.seq, h.key, h.stake = nil, 0, 0, nil
	h.asked, h.losses = false, 0
	t.hosts--
	s.place(t)
}
