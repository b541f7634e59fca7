package fairshare

import "time"

// Ask is an ask as the decision carries it out: h holds a slot at once with a yes.
func (s *Scheduler) Ask(now time.Time, free int, h *Host, errors int) Answer {
	a := s.Enqueue(now, free, h, errors)
	if a.Yes {
		s.Take(h)
	}
	return a
}
