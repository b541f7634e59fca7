package fairshare

import "time"

// Answer says whether a host may have a slot, and if not, when.
type Answer struct {
	// Yes: the host may take a slot.
	Yes bool
	// Capped: no, because the failing lane is closed, which is the host's.
	Capped bool
	// Position in the queue, 1 = next: called hosts by the age of their call, then
	// the others in the order of the calls to come, failing ones last while their
	// lane is closed. Beyond the 64th place it may be off by one in 64, and it is an
	// estimate where more than 64 tenants wait. 0 with a yes.
	Position int
	// Expect and AtMost are when a slot may come, going by how long slots were held: half of
	// all hosts in its place have one within Expect, nine of ten within AtMost. Unmeasured while
	// too few have ended to say.
	Expect, AtMost time.Duration
	// Wait is when to ask again so as to lose no time and not to be parked.
	Wait time.Duration
}

// Unmeasured is an expectation that is not known yet.
const Unmeasured time.Duration = -1

// Enqueue takes one ask of h that passed every earlier check of the decision, with its
// number of errors (below 0 counts as 0, above 9 as 9) and the number of free slots. It
// records the ask, which puts h into the queue, makes the calls that are to be made by
// now, and returns the answer; with a yes, Take gives h the slot.
func (s *Scheduler) Enqueue(now time.Time, free int, h *Host, errors int) Answer {
	if h.state == Holding {
		return Answer{Yes: true}
	}
	s.record(now, h, errors, true)
	s.setFree(free)
	s.makeCalls()
	if s.takeFailingCall(h) {
		s.makeCalls() // another host may be called now
	}
	if s.mayTake(h, s.free) || s.redeemFrom(h, s.free, s.now, h.early) != nil {
		return Answer{Yes: true}
	}
	return s.refusal(h, s.position(h), h.state == Waiting && h.lane == Failing && !s.failingOpen())
}

// Take gives h, which has just got a yes from Enqueue, its slot.
func (s *Scheduler) Take(h *Host) {
	if from := s.redeemFrom(h, s.free, s.now, h.early); from != nil {
		s.handOver(from, h)
		s.stats.Redeemed++
	}
	if h.state != Called {
		return
	}
	s.grant(h)
	if s.Queued() == 0 {
		s.rest()
	}
}

// Refused records one ask of h that an earlier check refused for now (stale view, still
// starting). h takes or keeps its place, but while this was its last ask no slot
// is kept for it, and nobody is called. It returns the position of h, 0 when it holds
// a slot.
func (s *Scheduler) Refused(now time.Time, h *Host, errors int) int {
	if h.state == Holding {
		return 0
	}
	s.record(now, h, errors, false)
	return s.position(h)
}

// Vacancy reports whether a slot is free besides those that are kept for due calls.
// It changes nothing.
func (s *Scheduler) Vacancy(free int) Answer {
	if free > s.calls.due() {
		return Answer{Yes: true}
	}
	n := s.Queued() + 1
	half, most := s.expect(n, false)
	return Answer{Position: n, Expect: half, AtMost: most, Wait: s.cfg.ClaimWindow / 2}
}

// record notes an ask: the time, the gap since the host's last one, whether it passed
// the earlier checks, and the claim window that begins with it. Then it parks silent
// hosts, never this one, and puts h into the queue if it is not there.
func (s *Scheduler) record(now time.Time, h *Host, errors int, passed bool) {
	s.tick(now)
	if s.now-s.forecast.at >= foreseeing {
		s.foresee()
	}
	s.clock.advance(s.begun.Add(s.now), s.commonWindow())
	since := s.now - h.askedAt
	h.early = h.asked && since < s.window(h)/patience
	// The ask clock lags where few ask, hence the other one, up to ClaimWindow.
	if gap := max(s.clock.at-h.lastAsk, min(since, s.cfg.ClaimWindow)); h.asked && gap >= minGap {
		h.gap = gap
		s.recordGap(gap)
	}
	h.asked, h.lastAsk, h.askedAt = true, s.clock.at, s.now
	if h.state == Called {
		s.calls.setPassed(h, passed)
	}
	h.passed = passed
	if h.state == Called || h.state == Waiting {
		s.extend(h)
	}
	s.expire()
	s.enter(h, errors)
}

// enter makes h wait unless it stands in the queue: with its old key if it has one
// of the same lane, else anew. A waiting host whose lane has changed enters anew.
func (s *Scheduler) enter(h *Host, errors int) {
	var lane Lane
	h.errors, lane = s.weigh(errors)
	old := h.seq != 0 && h.lane == lane
	switch {
	case h.state == Called || h.state == Waiting && old:
		return
	case h.state == Waiting:
		s.move(h, Parked) // leaves its old lane
	case h.state == Absent:
		s.join(h)
	}
	if !old {
		s.seq++
		h.lane, h.seq, h.key = lane, s.seq, h.t.v+penalty(h.errors)
		h.entered, h.losses = s.now, 0
	}
	s.move(h, Waiting)
	s.extend(h)
}

// weigh brings a count of errors that somebody claims within 0..9 (LH-28), and returns
// it with the lane of a host that has so many.
func (s *Scheduler) weigh(errors int) (uint8, Lane) {
	e := uint8(min(max(errors, 0), maxErrors))
	if int(e) >= s.cfg.Threshold {
		return e, Failing
	}
	return e, Healthy
}

// mayTake reports whether a called host may take a slot (F-3): more are free than are
// kept for older calls that are due, and it need not give way.
func (s *Scheduler) mayTake(h *Host, free int) bool {
	return h.state == Called && free > s.calls.kept.sum(min(h.ord, s.calls.dueEnd)) && !s.givesWay(h)
}

// grant gives h, which is called, a slot.
func (s *Scheduler) grant(h *Host) {
	if s.calls.all.sum(h.ord) > 0 {
		s.stats.Overtakes++
	}
	if h.lane == Failing {
		h.t.failedSeq, h.t.failedKey = s.seq, h.t.v+penalty(maxErrors)
	}
	h.t.lanes[h.lane].unoffer(h)
	s.calls.remove(h)
	h.lease = lease{granted: true, slots: 1, since: s.now}
	s.move(h, Holding)
	h.t.granted++
	h.losses, h.asked = 0, false
	s.stats.recordGrant(h.lane, s.now-h.entered)
	s.grants++
	s.makeDue()
	s.granted, s.free = s.now, max(s.free-1, 0)
}
