package fairshare

import "time"

// looked bounds how many tenants a position takes into account one by one.
const looked = 64

// refusal is the no to h, which waits or is called.
func (s *Scheduler) refusal(h *Host) Answer {
	a := Answer{Position: s.position(h), Capped: h.state == Waiting && h.lane == Failing && !s.failingOpen()}
	a.Expect = s.estimate(a.Position, a.Capped)
	a.Wait = s.retry(h, s.expect(a.Position, a.Capped, s.mean))
	return a
}

// estimate is expect as it is told to people: by what was measured alone.
func (s *Scheduler) estimate(position int, capped bool) time.Duration {
	if s.ended < enoughEnded && s.expect(position, capped, s.mean) > 0 {
		return Unmeasured
	}
	return s.expect(position, capped, s.measured)
}

// expect is how long it may take until the host at a position gets a slot: slots
// become free one after the other, L of them in the mean time that one is held. To a
// capped host, one of the failing lane while it is shut, what is free now is no use, and
// the slots of that lane are few.
func (s *Scheduler) expect(position int, capped bool, held time.Duration) time.Duration {
	d := turnover(max(0, position-s.free), s.cfg.Limit, held)
	if capped {
		d = max(d, turnover(max(1, position-s.lane[Healthy].waiting), s.capNow(), held))
	}
	return d
}

// turnover is the time in which n of so many slots become free, each of them held for so
// long.
func turnover(n, slots int, held time.Duration) time.Duration {
	return time.Duration(float64(n) * float64(held) / float64(slots))
}

// retry is when h should ask again: when its turn may have come, but often enough
// not to be parked. Sooner than RedeemAfter nothing can have changed for it.
func (s *Scheduler) retry(h *Host, expect time.Duration) time.Duration {
	return min(max(expect, s.cfg.RedeemAfter), s.window(h)/2)
}

// spot is a position that was worked out. Its counts are the low bits of the
// Scheduler's: only how far these have come since matters.
type spot struct {
	n             int32
	grants, moves uint32
	open          bool // the failing lane was
}

// drift bounds how far a position may be off: one in so many.
const drift = 64

// position is the place of h, which waits or is called, in the order that walk
// shows. Each grant brings all others forward by one; other changes are rare, so a
// place far behind is worked out anew only when there were enough of them to matter.
func (s *Scheduler) position(h *Host) int {
	if h.state == Called {
		return s.calls.older(h) + 1
	}
	p := &h.spot
	grants, moves := uint32(s.grants), uint32(s.moves) //nolint:gosec // the low bits
	if n := int(p.n) - int(grants-p.grants); n > s.calls.live && p.open == s.failingOpen() &&
		int64(moves-p.moves)*drift <= int64(n) {
		return n
	}
	n := s.workOut(h)
	*p = spot{n: int32(n), grants: grants, moves: moves, open: s.failingOpen()} //nolint:gosec // a count of hosts
	return n
}

// workOut is position from the ground up.
func (s *Scheduler) workOut(h *Host) int {
	own := ownRank(h)
	if s.failingOpen() {
		own += h.t.lanes[1-h.lane].waiting.rank(h)
	}
	return s.behind(h.t, h.lane, s.tag(h.t)+int64(own)*h.t.q, own)
}

// behind is the position of a waiting host of t with the given start tag, when own
// hosts of its tenant are called before it.
func (s *Scheduler) behind(t *tenant, l Lane, start int64, own int) int {
	ahead := s.calls.live + own + 1
	from, to := Healthy, Failing
	if !s.failingOpen() {
		from, to = l, l
		if l == Failing {
			ahead += s.lane[Healthy].waiting
		}
	}
	return ahead + s.others(t, start, from, to)
}

// others counts the waiting hosts of the tenants other than t that are called
// before a call of t with the given start tag.
func (s *Scheduler) others(t *tenant, start int64, from, to Lane) int {
	all := len(s.main.list) + len(s.late.list) + len(s.floored.list)
	stride := max(1, ceilDiv(all, looked))
	n, seen, skip := 0, 0, 0
	for _, q := range [...]*tenantHeap{&s.main, &s.late, &s.floored} {
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
	switch {
	case d < 0 || waiting == 0:
		return 0
	case d >= int64(waiting)*o.q:
		return waiting
	}
	calls := int64(float64(d) * o.perUnit) // a division would be the dearest part of an ask
	if calls*o.q > d {
		calls--
	} else if (calls+1)*o.q <= d {
		calls++
	}
	if calls*o.q < d || o.name < t.name {
		calls++
	}
	return int(calls)
}
