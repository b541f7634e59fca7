package fairshare

import (
	"math"
	"time"
)

// Peek says what Ask would say, as far as that can be told, and changes nothing.
func (s *Scheduler) Peek(now time.Time, free int, h *Host, errors int) Answer {
	free = max(free, 0)
	switch h.state {
	case Holding:
		return Answer{Yes: true}
	case Called:
		if free > s.calls.olderDue(h) {
			return Answer{Yes: true}
		}
		return s.refusal(h)
	case Waiting:
		idle := later(s.now, now).Sub(later(s.granted, s.freeSince))
		if s.redeemable(h, free, idle) != nil {
			return Answer{Yes: true}
		}
		return s.refusal(h)
	}
	a := Answer{Position: s.wouldBe(h, errors), Capped: s.laneOf(errors) == Failing && !s.failingOpen()}
	if !a.Capped && free > s.calls.due() && a.Position <= s.calls.live+s.callsToCome(free) {
		return Answer{Yes: true}
	}
	a.Expect = s.expect(a.Position)
	if a.Capped {
		a.Expect = max(a.Expect, s.expectCapped(a.Position))
	}
	a.Wait = s.retry(h, a.Expect)
	return a
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

// wouldBe is the position that h, which does not stand in the queue, would have.
func (s *Scheduler) wouldBe(h *Host, errors int) int {
	t, tag := s.tenants[h.tenant], s.v
	if t == nil {
		t = &tenant{name: h.tenant}
		t.setQuantum(s.cfg.quantum(h.tenant))
	} else if tag = s.tag(t); t.at == nil && t.read != s.readings {
		tag = max(tag, s.v)
	}
	like := Host{key: t.v + penalty(int(clampErrors(errors))), seq: math.MaxInt64, lane: s.laneOf(errors)}
	if h.state == Parked && h.lane == like.lane {
		like.key, like.seq = h.key, h.seq
	}
	own := t.lanes[like.lane].waiting.rank(&like)
	if s.failingOpen() {
		own += t.lanes[1-like.lane].waiting.rank(&like)
	}
	return s.behind(t, like.lane, tag+int64(own)*t.q, own)
}
