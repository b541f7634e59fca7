package fairshare

// tie is what Schedulers share that compete: each has a limit of its own, and a slot or start that
// one of them gives is missing in the others.
type tie struct {
	all    []*Scheduler
	dueSeq int64 // how many calls have become due
}

// Tie lets the given Schedulers know of each other: a call of one is also due when it was
// missed too often while hosts of the others were granted (F-3). Those that were tied
// with others before are not any more. Who is due stays so.
func Tie(all ...*Scheduler) {
	t := &tie{all: all}
	for _, s := range all {
		if s.tied != nil {
			t.dueSeq = max(t.dueSeq, s.tied.dueSeq)
		}
		s.tied = t
	}
}

// Missed records that a host of a tied Scheduler was granted a slot that a called host of
// s might have had, for one was free here too. Enough of these make a call due (F-3).
func (s *Scheduler) Missed() {
	s.missed++
	s.makeDue()
}

// makeDue makes calls due that enough grants or missed slots have passed over (F-3).
// Nobody takes them over any more.
func (s *Scheduler) makeDue() {
	c := &s.calls
	for ; c.dueEnd < len(c.hosts); c.dueEnd++ {
		h := c.hosts[c.dueEnd]
		if h == nil {
			continue
		}
		if h.due > s.grants && h.missed > s.missed {
			return
		}
		s.tied.dueSeq++
		h.dueSeq = s.tied.dueSeq
		h.t.lanes[h.lane].unoffer(h)
	}
}

// Kept returns how many slots s keeps from h, a host of a tied Scheduler: one for each call of s
// that became due before the call of h did. If h is not due, or nil, all due calls of s count.
// Calls whose last ask was Refused never count.
func (s *Scheduler) Kept(h *Host) int {
	switch {
	case s.calls.dueEnd == 0:
		return 0
	case h == nil || h.state != Called || h.dueSeq == 0:
		return s.calls.due()
	}
	return s.calls.dueBefore(h.dueSeq)
}

// Expire parks silent hosts, so that nothing is kept for them. It reports whether one of
// them was called: then Update should follow, for another may be called. Enqueue, Refused
// and Update expire the hosts of their own Scheduler.
func (s *Scheduler) Expire() bool {
	before := s.stats.Expired
	s.expire()
	return s.stats.Expired > before
}
