package fairshare

import (
	"math"
	"time"
)

// Peek says what Enqueue would say, as far as that can be known, and changes nothing.
func (s *Scheduler) Peek(now time.Time, free int, h *Host, errors int) Answer {
	free = max(free, 0)
	at, like := s.at(now), h
	early := at-h.askedAt < s.window(h)/patience
	var position int
	weighed, lane := s.weigh(errors)
	switch {
	case h.state == Holding || s.mayTake(h, free):
		return Answer{Yes: true}
	case h.state == Called:
		return s.refusal(h, s.position(h), false)
	case h.state == Waiting && h.lane == lane:
		position = s.position(h)
	default: // it would enter anew
		var tag int64
		like, tag = s.wouldBe(h, weighed, lane)
		position = s.workOut(like, tag, s.failingOpen())
		early = false
	}
	capped := like.lane == Failing && !s.failingOpen()
	called := !capped && free > s.calls.due() && !s.givesWay(like) && position <= s.calls.open+s.callsToCome(free)
	if called || s.redeemFrom(like, free, at, early) != nil {
		return Answer{Yes: true}
	}
	return s.refusal(h, position, capped)
}

// callsToCome is how many calls are made for so many free slots, at least.
func (s *Scheduler) callsToCome(free int) int {
	if n := free - s.calls.open; n > 0 {
		return n
	}
	if most := free + s.callAhead(); s.calls.open < most && s.redeemers < most {
		return 1
	}
	return 0
}

// wouldBe is h, which does not stand in the queue with that many errors, as if it
// did, and the start tag that its tenant would have.
func (s *Scheduler) wouldBe(h *Host, errors uint8, lane Lane) (like *Host, tag int64) {
	t, tag := s.tenants[h.Tenant()], s.v
	if t == nil {
		t = &tenant{name: h.Tenant(), quantum: s.cfg.quantum(h.Tenant())}
	} else if tag = s.tag(t); t.in == nil && t.eligible != s.choices {
		tag = max(tag, s.v)
	}
	like = &Host{state: Waiting, t: t, lane: lane, key: t.v + penalty(errors), seq: math.MaxInt64}
	if h.state == Parked && h.lane == lane {
		like.key, like.seq = h.key, h.seq
	}
	return like, tag
}
