package fairshare

import (
	"math"
	"time"
)

// sampled bounds how many tenants a position takes into account one by one.
const sampled = 64

// refusal is the no to h at a position. It is capped if the failing lane, which is the
// host's, is closed.
func (s *Scheduler) refusal(h *Host, position int, capped bool) Answer {
	// Sooner than RedeemAfter nothing can have changed for h.
	soonest := max(s.soonest(position, capped), s.cfg.RedeemAfter)
	half, most := s.expect(position, capped)
	return Answer{
		Position: position, Capped: capped, Expect: half, AtMost: most,
		Wait: min(soonest, s.window(h)/2), // often enough not to be parked
	}
}

// Last is when the last host of the queue may have its slot, as an Answer says it.
func (s *Scheduler) Last() (half, most time.Duration) {
	return s.expect(s.Queued(), s.lane[Failing].waiting > 0 && !s.failingOpen())
}

// soonest is when it is worth asking again: slots become free one after the other, L of them in the
// mean time that one is held. To a capped host what is free now is no use, and the slots of its
// lane are few.
func (s *Scheduler) soonest(position int, capped bool) time.Duration {
	turnover := func(n, slots int) time.Duration { // the time in which n of so many slots become free
		return time.Duration(float64(n) * float64(s.mean) / float64(slots))
	}
	d := turnover(max(0, position-s.free), s.cfg.Limit)
	if capped {
		_, most := s.failingUse()
		d = max(d, turnover(max(1, position-s.lane[Healthy].waiting), most))
	}
	return d
}

// cachedPosition is a position that was worked out. Its counts are the low bits of the
// Scheduler's: only how far these have come since matters.
type cachedPosition struct {
	n             int32
	grants, moves uint32
	open          bool // the failing lane was
}

// drift bounds how far a position may be off: one in so many.
const drift = 64

// position is the place of h, which waits or is called, in the order that walk
// shows. Each grant brings all others forward by one. Other changes are rare: a place far behind is
// worked out anew only after so many of them that it may be wrong by more than drift allows.
func (s *Scheduler) position(h *Host) int {
	if h.state == Called {
		return s.calls.all.sum(h.ord) + 1
	}
	p, open := &h.lastPosition, s.failingOpen()
	grants, moves := uint32(s.grants), uint32(s.moves) //nolint:gosec // the low bits
	n := int(p.n) - int(grants-p.grants)
	if n > s.calls.open && p.open == open && int64(moves-p.moves)*drift <= int64(n) {
		return n
	}
	n = s.workOut(h, s.tag(h.t), open)
	*p = cachedPosition{n: int32(n), grants: grants, moves: moves, open: open} //nolint:gosec // a count of hosts
	return n
}

// workOut is the position of a waiting host whose tenant has the given start tag.
func (s *Scheduler) workOut(h *Host, tag int64, open bool) int {
	own := h.t.lanes[h.lane].waiting.rank(h) // so many of its tenant are called before it
	from, to, ahead := h.lane, h.lane, 0
	switch {
	case open:
		own += h.t.lanes[1-h.lane].waiting.rank(h)
		from, to = Healthy, Failing
	case h.lane == Failing:
		ahead = s.lane[Healthy].waiting
	}
	return s.calls.open + ahead + own + 1 + s.others(h.t, tag+int64(own)*h.t.quantum, from, to)
}

// others counts the waiting hosts of the tenants other than t that are called
// before a call of t with the given start tag.
func (s *Scheduler) others(t *tenant, start int64, from, to Lane) int {
	all := len(s.main.list) + len(s.failingOnly.list) + len(s.floored.list)
	stride := max(1, ceilDiv(all, sampled))
	n, seen, skip := 0, 0, 0
	for _, q := range [...]*tenantHeap{&s.main, &s.failingOnly, &s.floored} {
		i := skip
		for ; i < len(q.list); i += stride {
			if o := q.list[i]; o != t {
				n += s.callsBefore(o, t, start, from, to)
			}
			seen++
		}
		skip = i - len(q.list)
	}
	if stride > 1 {
		n = n * all / seen
	}
	return n
}

// callsBefore is others for one tenant.
func (s *Scheduler) callsBefore(o, t *tenant, start int64, from, to Lane) int {
	waiting := 0
	for l := from; l <= to; l++ {
		waiting += o.lanes[l].waiting.len()
	}
	d := start - s.tag(o)
	if d < 0 || waiting == 0 {
		return 0
	}
	if d >= int64(waiting)*o.quantum {
		return waiting
	}
	// Exact below 2^52, and less dear than a division of integers, of which an ask has 64.
	calls := int(math.Ceil(float64(d) / float64(o.quantum)))
	if int64(calls)*o.quantum == d && o.name < t.name {
		calls++
	}
	return calls
}
