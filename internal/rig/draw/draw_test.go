package draw

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	s := NewStream(1, 1)
	for _, span := range []Span{{Min: time.Second, Max: 2 * time.Second}, {Min: time.Second, Max: time.Second}, {}} {
		for range 1000 {
			if d := s.Span(span); d < span.Min || d > span.Max {
				t.Fatalf("%s of %s", d, span)
			}
			if d := s.Tail(span); d < span.Min || d > span.Max {
				t.Fatalf("%s of the tail of %s", d, span)
			}
		}
	}
}

func TestStreamsDoNotDependOnEachOther(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(4) {
		for n := range uint64(100) {
			s := NewStream(seed, n)
			if v := s.next(); seen[v] {
				t.Fatalf("two streams begin with %d", v)
			} else {
				seen[v] = true
			}
			if f := s.Float(); f < 0 || f >= 1 {
				t.Fatalf("%v is outside of [0, 1)", f)
			}
		}
	}
}
