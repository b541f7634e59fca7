package fairshare

import "math"

// tie is what Schedulers have in common whose hosts take slots, or starts, from each
// other beside the limit that each has.
type tie struct {
	all  []*Scheduler
	turn int64 // calls that have become due
}

// Tie lets the given Schedulers know of each other: a call of one is also due when it was
// missed too often while hosts of the others were granted (F-3). Those that were tied
// with others before are not any more. Who is due stays so.
func Tie(all ...*Scheduler) {
	t := &tie{all: all}
	for _, s := range all {
		if s.tied != nil {
			t.turn = max(t.turn, s.tied.turn)
		}
		s.tied = t
	}
}

// calls is how many hosts are called by all.
func (t *tie) calls() (n int64) {
	for _, s := range t.all {
		n += int64(s.calls.live)
	}
	return n
}

// Missed notes that a host of a tied Scheduler was granted a slot that a called one of s
// might have had: one was free here too.
func (s *Scheduler) Missed() {
	s.missed++
	s.calls.advance(s.grants, s.missed, &s.tied.turn)
}

// Kept counts the calls for which a slot is kept, and that were due before h was, a host
// of a tied Scheduler: all of them if h is not due, or nil.
func (s *Scheduler) Kept(h *Host) int {
	if s.calls.dueEnd == 0 {
		return 0
	}
	if turn := h.dueSince(); turn < math.MaxInt64 {
		return s.calls.dueBefore(turn)
	}
	return s.calls.due()
}

// dueSince is the turn in which h became due; that of one that is not is still to come.
func (h *Host) dueSince() int64 {
	if h == nil || h.state != Called || h.turn == 0 {
		return math.MaxInt64
	}
	return h.turn
}

// Expire parks silent hosts, and reports whether one of them was called: then Update
// should follow, for another may be called. Ask and Update do it for their own
// Scheduler.
func (s *Scheduler) Expire() bool {
	before := s.stats.Expired
	s.expire()
	return s.stats.Expired > before
}
