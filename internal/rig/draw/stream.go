// Package draw has the random numbers of the rig: the same seed gives the same numbers.
package draw

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Stream is a generator of random numbers (splitmix64) of eight bytes. Each host has its own, so that it draws the same
// numbers whatever the other hosts do.
type Stream uint64

// NewStream returns the n-th stream of a seed.
func NewStream(seed, n uint64) Stream {
	a, b := Stream(seed), Stream(^n)
	return Stream(a.next() ^ b.next())
}

func (s *Stream) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// Float returns a number in [0, 1).
func (s *Stream) Float() float64 { return float64(s.next()>>11) / (1 << 53) }

// Chance returns true with the probability p.
func (s *Stream) Chance(p float64) bool { return s.Float() < p }

// Intn returns a number in [0, n).
func (s *Stream) Intn(n int) int { return int(s.next() % uint64(n)) }

// Span draws a duration of sp; all are equally likely.
func (s *Stream) Span(sp Span) time.Duration {
	return sp.Min + time.Duration(s.Float()*float64(sp.Max-sp.Min+1))
}

// Tail draws a duration that is mostly near sp.Min and sometimes far from it, as the times of a server's answers are.
// The mean is a fifth of the way to sp.Max.
func (s *Stream) Tail(sp Span) time.Duration {
	u := s.Float()
	u *= u
	return sp.Min + time.Duration(u*u*float64(sp.Max-sp.Min))
}

// UUID draws a version 4 UUID.
func (s *Stream) UUID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], s.next())
	binary.BigEndian.PutUint64(b[8:], s.next())
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
