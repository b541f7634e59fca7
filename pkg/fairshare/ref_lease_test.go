package fairshare

import "time"

// Slots in the reference model that were not granted by an ask, and their ends.

func (s *refScheduler) hold(now time.Time, h *refHost, errors int) {
	s.tick(now)
	if h.state == Holding {
		return
	}
	s.leave(now, h)
	s.know(h)
	h.state, h.lane, h.unknown = Holding, s.laneOf(errors), errors == Unknown
	if h.unknown {
		h.lane = Failing
	}
}

func (s *refScheduler) told(h *refHost, errors int) {
	if h.state == Holding && h.unknown {
		h.lane, h.unknown = s.laneOf(errors), false
	}
}

func (s *refScheduler) release(now time.Time, h *refHost, how End) {
	s.tick(now)
	if h.state != Holding {
		return
	}
	if how == Finished && h.granted {
		s.mean = max(time.Second, s.mean+(s.now.Sub(h.leased)-s.mean)/32)
	}
	if how == Finished || !h.granted {
		s.forget(h)
		return
	}
	if how == Refunded {
		s.tenant(h.tenant).tag -= h.call.charge
	}
	h.state, h.call, h.granted = Parked, refCall{}, false
}

// askPlanned has the rules of DC-24 and DC-25.
func (s *refScheduler) askPlanned(now time.Time, free int, h *refHost, n int) bool {
	s.tick(now)
	s.seen(free)
	s.park()
	held := 0
	for _, o := range s.hosts {
		if o.state == Waiting || o.state == Called || o.state == Parked {
			return false
		}
		if o.state == Holding && o.lane == Planned {
			held += o.slots
		}
	}
	limit := s.cfg.Limit
	if h.state != Absent || n < 1 || free < n+max(1, (limit+9)/10) || held+n > max(1, limit/4) {
		return false
	}
	s.know(h)
	h.state, h.lane, h.slots = Holding, Planned, n
	s.free -= n
	return true
}
