package fairshare

import "math"

// A healthy host is overtaken by one failing host of its tenant at most (F-11): from
// then on those that stand behind it in the order give way. Overtaken are the healthy
// hosts that entered before a failing host last got a slot, and that wait or are called;
// whoever is silent is parked, and nobody gives way to it.

// givesWay reports whether h, as it is a failing host, must leave a slot to a healthy
// one of its tenant.
func (s *Scheduler) givesWay(h *Host) bool {
	if h.lane != Failing {
		return false
	}
	healthy := &h.t.lanes[Healthy]
	return h.t.overtakenBefore(&healthy.called, h) || h.t.overtakenBefore(&healthy.waiting, h)
}

// overtakenBefore reports whether one of the healthy hosts of q stands before h and was
// overtaken. Of those with one key the first to enter comes first, and whoever entered
// later and was not overtaken has one of few keys.
func (t *tenant) overtakenBefore(q *tree, h *Host) bool {
	if q.root == nil || t.failedSeq == 0 {
		return false
	}
	for o := q.first(); o != nil && o.before(h) && o.key <= t.failedKey; o = q.after(o.key, math.MaxInt64) {
		if o.seq <= t.failedSeq {
			return true
		}
	}
	return false
}

// takeFailingCall gives h, if it is healthy and was overtaken, the oldest call of the
// failing hosts that give way to it: else a slot might be kept for one of them, or all
// calls be theirs. If h has a younger one they exchange them, else the failing host waits
// again; of those that wait only the first may. It reports whether h has a call that it
// had not.
func (s *Scheduler) takeFailingCall(h *Host) bool {
	failing, healthy := &h.t.lanes[Failing], &h.t.lanes[Healthy]
	if failing.called.root == nil || h.lane != Healthy || h.seq > h.t.failedSeq {
		return false
	}
	waits := h.state == Waiting
	if waits && h.t.overtakenBefore(&healthy.waiting, h) {
		return false
	}
	var from *Host
	for f := failing.called.after(h.key, h.seq); f != nil; f = failing.called.after(f.key, f.seq) {
		if (waits || f.ord < h.ord) && (from == nil || f.ord < from.ord) {
			from = f
		}
	}
	if from == nil {
		return false
	}
	if waits {
		s.handOver(from, h)
	} else {
		healthy.unoffer(h)
		failing.unoffer(from)
		s.calls.swap(h, from)
		s.offer(from)
	}
	s.offer(h)
	s.moves++
	return waits
}
