package fairshare

// A healthy host is overtaken by one failing host of its tenant at most (F-11): from
// then on those that stand behind it in the order give way. Overtaken are the healthy
// hosts that entered before a failing host last got a slot, and that wait or are called;
// whoever is silent is parked, and nobody gives way to it.

// overtake notes that a failing host gets a slot, after so many entries.
func (t *tenant) overtake(entries int64) {
	t.failedSeq, t.failedKey = entries, t.v+penalty(maxErrors)
}

// overtaken reports whether h, which waits or is called, was overtaken.
func (h *Host) overtaken() bool { return h.lane == Healthy && h.seq <= h.t.failedSeq }

// overtakenBefore reports whether one of the healthy hosts of q stands before h and was
// overtaken. Of those with one key the first to enter comes first, and whoever entered
// later and was not overtaken has one of few keys.
func (t *tenant) overtakenBefore(q *tree, h *Host) bool {
	if q.len() == 0 || t.failedSeq == 0 {
		return false
	}
	for o := q.first(); o != nil && o.before(h) && o.key <= t.failedKey; o = q.from(o.key + 1) {
		if o.seq <= t.failedSeq {
			return true
		}
	}
	return false
}

// givesWay reports whether h, as it is a failing host, must leave a slot to a healthy
// one of its tenant.
func (s *Scheduler) givesWay(h *Host) bool {
	if h.lane != Failing {
		return false
	}
	healthy := &h.t.lanes[Healthy]
	return h.t.overtakenBefore(&healthy.called, h) || h.t.overtakenBefore(&healthy.waiting, h)
}

// claimPlace gives h, if it was overtaken, the oldest call of the failing hosts that give
// way to it: else a slot might be kept for one of them, or all calls be theirs. If h has
// a younger one they exchange them, else the failing host waits again; of those that
// wait only the first may. It reports whether h has a call that it had not.
func (s *Scheduler) claimPlace(h *Host) bool {
	if h.state != Waiting && h.state != Called || !h.overtaken() {
		return false
	}
	waits := h.state == Waiting
	if waits && h.t.overtakenBefore(&h.t.lanes[Healthy].waiting, h) {
		return false
	}
	var from *Host
	for f := h.t.lanes[Failing].called.last(); f != nil && h.before(f); f = previous(f) {
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
		h.t.lanes[Healthy].unlink(h)
		h.t.lanes[Failing].unlink(from)
		s.calls.swap(h, from)
		s.relink(from)
	}
	s.relink(h)
	s.moves++
	return waits
}

// relink lets others take over the call of h, if they may.
func (s *Scheduler) relink(h *Host) {
	if !s.calls.isDue(h) && int(h.losses) < s.maxLosses() {
		h.t.lanes[h.lane].link(h)
	}
}
