package fakeironic

import (
	"encoding/binary"
	"fmt"
	"time"
)

// stream is a small generator (splitmix64). Eight bytes, so every node has one
// of its own and draws the same whatever the others do.
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

func (s *stream) chance(p float64) bool { return s.float() < p }

func (s *stream) intn(n int) int { return int(s.next() % uint64(n)) }

func (s *stream) span(sp Span) time.Duration {
	return sp.Min + time.Duration(s.float()*float64(sp.Max-sp.Min+1))
}

// uuid draws a version 4 UUID.
func (s *stream) uuid() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], s.next())
	binary.BigEndian.PutUint64(b[8:], s.next())
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
