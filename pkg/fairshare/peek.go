package fairshare

import (
	"math"
	"time"
)

// Peek says what Ask would say, as far as that can be told, and changes nothing.
func (s *Scheduler) Peek(now time.Time, free int, h *Host, errors int) Answer {
	free = max(free, 0)
	early := later(s.now, now).Sub(s.begun)-h.askedAt < s.window(h)/patience
	like, position := h, 0
	switch {
	case h.state == Holding:
		return Answer{Yes: true}
	case h.state == Called:
		return s.turn(h, free, now, early)
	case h.state == Waiting && h.lane == s.laneOf(errors):
		position = s.position(h)
	default: // it would enter anew
		like, position = s.wouldBe(h, errors)
		early = false
	}
	a := Answer{Position: position, Capped: like.lane == Failing && !s.failingOpen()}
	called := !a.Capped && free > s.calls.due() && !s.givesWay(like) && position <= s.calls.live+s.callsToCome(free)
	if called || s.takesOverFrom(like, free, s.idleFor(now), early) != nil {
		return Answer{Yes: true}
	}
	a.Expect = s.estimate(position, a.Capped)
	a.Wait = s.retry(h, s.expect(position, a.Capped, s.mean))
	return a
}

// idleFor is for how long slots have been free without a grant.
func (s *Scheduler) idleFor(now time.Time) time.Duration {
	return later(s.now, now).Sub(later(s.granted, s.freeSince))
}

// callsToCome is how many calls are made for so many free slots, at least.
func (s *Scheduler) callsToCome(free int) int {
	if n := free - s.calls.live; n > 0 {
		return n
	}
	if most := free + s.callAhead(); s.calls.live < most && s.redeemers < most {
		return 1
	}
	return 0
}

// wouldBe is h, which does not stand in the queue with that many errors, as if it
// did, and the position that it would have.
func (s *Scheduler) wouldBe(h *Host, errors int) (*Host, int) {
	t, tag := s.tenants[h.Tenant()], s.v
	if t == nil {
		t = &tenant{name: h.Tenant()}
		t.setQuantum(s.cfg.quantum(h.Tenant()))
	} else if tag = s.tag(t); t.at == nil && t.read != s.readings {
		tag = max(tag, s.v)
	}
	like := &Host{
		state: Waiting, t: t, lane: s.laneOf(errors),
		key: t.v + penalty(int(clampErrors(errors))), seq: math.MaxInt64,
	}
	if h.state == Parked && h.lane == like.lane {
		like.key, like.seq = h.key, h.seq
	}
	own := t.lanes[like.lane].waiting.rank(like)
	if s.failingOpen() {
		own += t.lanes[1-like.lane].waiting.rank(like)
	}
	return like, s.behind(t, like.lane, tag+int64(own)*t.q, own)
}
