package fairshare

import "time"

// Answer is what Ask says.
type Answer struct {
	// Yes: the host holds a slot from now on.
	Yes bool
	// Capped: no, because the failing lane is shut, the host's.
	Capped bool
	// Position in the queue, 1 = next: called hosts by the age of their call, then
	// the others in the order of the calls to come, failing ones last while their
	// lane is shut. Beyond the 64th place it may be off by one in 64, and it is an
	// estimate where more than 64 tenants wait. 0 with a yes.
	Position int
	// Expect is when a slot may come, going by how long slots were held; Unmeasured while
	// too few have ended to say.
	Expect time.Duration
	// Wait is when to ask again so as to lose no time and not to be parked.
	Wait time.Duration
}

// Unmeasured is an expectation that is not known yet.
const Unmeasured time.Duration = -1

// Enqueue takes one ask of h that passed every earlier check of the decision, with its
// number of errors (below 0 counts as 0, above 9 as 9) and the number of free slots: h
// stands in the queue from now on, and who is called by now is called. It returns the
// answer; with a yes, Take gives h the slot.
func (s *Scheduler) Enqueue(now time.Time, free int, h *Host, errors int) Answer {
	if h.state == Holding {
		return Answer{Yes: true}
	}
	s.hear(now, h, errors, true)
	s.look(free)
	s.makeCalls()
	if h.t.lanes[Failing].called.n > 0 && s.claimPlace(h) {
		s.makeCalls() // another host may be called now
	}
	return s.turn(h, s.free, s.now, h.early)
}

// turn is the answer to h, which waits or is called, at now with so many slots free. early
// tells that its last ask but this was a short while ago.
func (s *Scheduler) turn(h *Host, free int, now time.Time, early bool) Answer {
	if s.mayTake(h, free) || s.takesOverFrom(h, free, s.idleFor(now), early) != nil {
		return Answer{Yes: true}
	}
	return s.refusal(h)
}

// Take gives h, which has just got a yes from Enqueue, its slot.
func (s *Scheduler) Take(h *Host) {
	if h.state == Waiting {
		s.takeOver(h)
	}
	if h.state == Called {
		s.grant(h)
		s.settle()
	}
}

// Refused is one ask of h that an earlier check refused for now (stale view, still
// starting). It takes or keeps its place, but while this was its last ask no slot
// is kept for it, and nobody is called. It returns the position of h, 0 when it holds
// a slot.
func (s *Scheduler) Refused(now time.Time, h *Host, errors int) int {
	if h.state == Holding {
		return 0
	}
	s.hear(now, h, errors, false)
	return s.position(h)
}

// Vacancy says whether a slot is free that is not kept for a host whose turn it is.
// It changes nothing.
func (s *Scheduler) Vacancy(free int) Answer {
	if free > s.calls.due() {
		return Answer{Yes: true}
	}
	n := s.Queued() + 1
	return Answer{Position: n, Expect: s.estimate(n, false), Wait: s.cfg.ClaimWindow / 2}
}

// patience is the part of its claim window that a host must let go by between two
// asks to step in for another.
const patience = 5

// failingPatience is how many times longer slots of a small site must have been idle for
// a failing host to step in for another: where few ask the order of their errors would
// not show else.
const (
	failingPatience = 3
	smallSite       = 8 // from here on max(1, L/4) is more than 1
)

// hear records an ask: the ask clock, the gap since the host's last one, whether
// it passed the earlier checks. Then it parks silent hosts, never this one, and
// enters it if it does not stand in the queue.
func (s *Scheduler) hear(now time.Time, h *Host, errors int, passed bool) {
	s.tick(now)
	s.pace.tick(s.now, s.cfg.ClaimWindow)
	h.early = h.asked && s.age()-h.askedAt < s.window(h)/patience
	if gap := s.gapOf(h); h.asked && gap >= minGap {
		h.gap = gap
		s.note(gap)
	}
	h.asked, h.lastAsk, h.askedAt, h.errors = true, s.clock.at, s.age(), clampErrors(errors)
	if h.state == Called {
		s.calls.setPassed(h, passed)
	}
	h.passed = passed
	if h.state == Waiting || h.state == Called {
		s.heard(h)
	}
	s.expire()
	s.enter(h)
}

// gapOf is the time since the last ask of h: as the ask clock went, or, if that is
// more, as the clock did, up to ClaimWindow. For the ask clock lags where few ask.
func (s *Scheduler) gapOf(h *Host) time.Duration {
	return max(s.clock.at-h.lastAsk, min(s.age()-h.askedAt, s.cfg.ClaimWindow))
}

func (s *Scheduler) laneOf(errors int) Lane {
	if int(clampErrors(errors)) >= s.cfg.Threshold {
		return Failing
	}
	return Healthy
}

// enter makes h wait unless it stands in the queue: with its old key if it has one
// of the same lane, else anew. A waiting host whose lane has changed enters anew.
func (s *Scheduler) enter(h *Host) {
	lane := s.laneOf(int(h.errors))
	old := h.seq != 0 && h.lane == lane
	switch {
	case h.state == Called || h.state == Waiting && old:
		return
	case h.state == Waiting:
		s.unqueue(h)
	case h.state == Parked:
		s.parked--
	default:
		s.join(h)
	}
	if !old {
		s.seq++
		h.lane, h.seq, h.key = lane, s.seq, h.t.v+penalty(int(h.errors))
		h.entered, h.losses = s.age(), 0
	}
	s.queue(h)
	s.heard(h)
}

// mayTake reports whether a called host may take a slot: as many are free as are
// kept for older calls, and one more, and it need not give way.
func (s *Scheduler) mayTake(h *Host, free int) bool {
	return h.state == Called && free > s.calls.olderDue(h) && !s.givesWay(h)
}

// takeOver lets h, which waits, take over the call of another.
func (s *Scheduler) takeOver(h *Host) {
	if from := s.takesOverFrom(h, s.free, s.idleFor(s.now), h.early); from != nil {
		s.handOver(from, h)
		s.stats.Redeemed++
	}
}

// handOver gives the call of from to h, which waits. from waits again.
func (s *Scheduler) handOver(from, h *Host) {
	s.endCall(from)
	h.stake, from.stake = from.stake, nil
	from.losses++
	s.queue(from)
	s.unqueue(h)
	h.state = Called
	s.change(h, func(n *laneCount, l *lane) { n.called++; l.called.insert(h) })
	s.calls.restore(h)
}

// redeemable returns the host whose call h may take over when slots have been idle
// for so long, or nil.
func (s *Scheduler) takesOverFrom(h *Host, free int, idle time.Duration, early bool) *Host {
	after := s.takeOverAfter()
	if h.lane == Failing && s.cfg.Limit < smallSite {
		after *= failingPatience
	}
	if h.state != Waiting || idle < after || free <= s.calls.due() || early {
		return nil
	}
	from := h.t.lanes[h.lane].oldest
	if from == nil {
		return nil
	}
	room := int64(max(1, s.cfg.Limit/4)) * int64(free)
	for range min(idle/after, 30) {
		room *= 2
	}
	if h.key-from.key > room || s.givesWay(h) {
		return nil
	}
	return from
}

// redeemAfter is RedeemAfter, or less in proportion where slots are held for less than
// 20 minutes: what may be idled away is a part of that.
func (s *Scheduler) takeOverAfter() time.Duration {
	part := min(s.mean, startMean).Milliseconds()
	return max(s.cfg.RedeemAfter*time.Duration(part)/time.Duration(startMean.Milliseconds()), time.Millisecond)
}

// grant gives h, which is called, a slot.
func (s *Scheduler) grant(h *Host) {
	if s.calls.older(h) > 0 {
		s.stats.Overtakes++
	}
	s.endCall(h)
	s.silence.clear(h)
	if h.lane == Failing {
		h.t.overtake(s.seq)
	}
	s.occupy(h)
	h.granted = true
	h.t.granted++
	h.losses, h.asked = 0, false
	s.stats.granted(h.lane, s.age()-h.entered)
	s.grants++
	s.calls.advance(s.grants, s.missed, &s.tied.turn)
	s.granted = s.now
	s.look(s.free - 1)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
