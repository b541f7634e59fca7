package fairshare

// Planned work has a lane without a queue: nobody pays for its slots, and neither its asks nor its
// slots change whose turn it is. It gets a slot when nobody else wants one (DC-24), and only a part
// of all slots (DC-25). Where a host competes in two limits, its owner asks for both.

import "time"

// PlannedReserve is how many slots of a limit stay free when planned work begins (DC-24).
func PlannedReserve(limit int) int { return max(1, ceilDiv(limit, 10)) }

// PlannedMost is how many slots of a limit planned work may hold (DC-25).
func PlannedMost(limit int) int { return max(1, limit/4) }

// AskPlanned asks for n slots for planned work of h, which only gets them when nobody
// else wants them: nobody waits, is called or is parked, PlannedReserve stays
// free, and planned work holds at most PlannedMost (DC-24, DC-25). With a yes
// h holds them at once; Release gives them all back.
func (s *Scheduler) AskPlanned(now time.Time, free int, h *Host, n int) bool {
	s.tick(now)
	s.expire()
	s.setFree(free)
	if h.state != Absent || n < 1 || s.Wanted() > 0 || s.free < n+PlannedReserve(s.cfg.Limit) ||
		s.lane[Planned].holding+n > PlannedMost(s.cfg.Limit) {
		return false
	}
	s.join(h)
	h.lane, h.stake = Planned, &stake{lease: lease{slots: n, since: s.now}}
	s.move(h, Holding)
	s.stats.Grants[Planned]++
	s.setFree(s.free - n)
	return true
}

// Planned reports whether h holds its slot for planned work.
func (h *Host) Planned() bool { return h.state == Holding && h.lane == Planned }

// HeldPlanned is how many slots planned work holds.
func (s *Scheduler) HeldPlanned() int { return s.lane[Planned].holding }

// Wanted is how many hosts want a slot, or keep a place because they may come back for one.
func (s *Scheduler) Wanted() int { return s.Queued() + s.parked }

// FirstOf returns the next host of a tenant that waits or is called, other than except; nil if there
// is none.
func (s *Scheduler) FirstOf(tenant string, except *Host) *Host {
	t := s.tenants[tenant]
	if t == nil {
		return nil
	}
	for _, l := range [...]Lane{Healthy, Failing} {
		for _, all := range [...]*tree{&t.lanes[l].called, &t.lanes[l].waiting} {
			h := all.first()
			if h != nil && h == except {
				h = all.after(h.key, h.seq)
			}
			if h != nil {
				return h
			}
		}
	}
	return nil
}

// RecordPlanned moves a slot that h holds without a grant of s, as its node was found at work, into
// the planned lane. Of any other host it changes nothing.
func (s *Scheduler) RecordPlanned(h *Host) {
	if h.state != Holding || h.granted || h.lane == Planned {
		return
	}
	s.lane[h.lane].holding -= h.slots
	h.unknown, h.lane = false, Planned
	s.lane[Planned].holding += h.slots
}
