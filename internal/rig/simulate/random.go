package simulate

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// stream is a small generator (splitmix64): each host and the poller have one of
// their own, so nobody's draws depend on what the others do.
type stream uint64

func newStream(seed, n uint64) stream {
	a, b := stream(seed), stream(^n)
	return stream(a.next() ^ b.next())
}

func (s *stream) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// float returns a number in [0, 1).
func (s *stream) float() float64 { return float64(s.next()>>11) / (1 << 53) }

// span draws evenly.
func (s *stream) span(sp fakeironic.Span) time.Duration {
	return sp.Min + time.Duration(s.float()*float64(sp.Max-sp.Min+1))
}

// tail draws mostly near the minimum and sometimes far from it, as answers of
// servers do: the mean is a fifth of the way.
func (s *stream) tail(sp fakeironic.Span) time.Duration {
	u := s.float()
	u *= u
	return sp.Min + time.Duration(u*u*float64(sp.Max-sp.Min))
}
