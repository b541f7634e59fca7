package fairshare

import (
	"slices"
	"time"
)

// Silence in the reference model: the ask clock, gaps and claim windows.

// record notes an ask of h: it moves the ask clock and may show a gap.
func (s *refScheduler) record(h *refHost) {
	if s.anyAsk {
		claim := s.cfg.ClaimWindow
		if len(s.gaps) > 0 {
			claim = clampWindow(2 * s.g95)
		}
		s.clock += min(s.now.Sub(s.lastAsk), max(2*time.Second, claim/4))
	}
	s.anyAsk, s.lastAsk = true, s.now
	h.early = h.asked && h.state != Absent && s.now.Sub(h.lastAt) < s.claim(h)/5
	gap := max(s.clock-h.last, min(s.now.Sub(h.lastAt), s.cfg.ClaimWindow))
	if h.asked && h.state != Absent && gap >= time.Second {
		h.gap = gap
		s.gaps = append(s.gaps, h.gap)
		if n := len(s.gaps); n < 64 || n%32 == 0 {
			s.g50, s.g95 = percentile(s.gaps, 50), percentile(s.gaps, 95)
		}
	}
	h.asked, h.last, h.lastAt, h.until = true, s.clock, s.now, s.clock+s.claim(h)
}

// percentile is the nearest-rank one of the last 512.
func percentile(gaps []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(gaps[max(0, len(gaps)-512):]))
	return sorted[max(1, (p*len(sorted)+99)/100)-1]
}

func clampWindow(d time.Duration) time.Duration {
	return min(max(d, 10*time.Second), time.Hour)
}

// claim is within which time h is expected back, as things are now.
func (s *refScheduler) claim(h *refHost) time.Duration {
	d := clampWindow(2 * max(s.g95, h.gap))
	if h.gap == 0 {
		d = max(d, s.cfg.ClaimWindow)
	}
	return d
}

// park parks every host whose claim window has ended, the present one as well if it
// is longer.
func (s *refScheduler) park() {
	for _, h := range s.hosts {
		if h.state != Waiting && h.state != Called || s.clock.Truncate(time.Second) < h.until {
			continue
		}
		if now := h.last + s.claim(h); now > s.clock.Truncate(time.Second) {
			h.until = now
			continue
		}
		if h.state == Called {
			s.uncall(h)
		}
		h.state = Parked
	}
}
