package disruption

import (
	"context"
	"testing"
)

// BenchmarkSearch is what the search itself costs: pods are placed by sums of CPUs.
func BenchmarkSearch(b *testing.B) {
	l := newLab(b, 1000)
	for i := range 1000 {
		for range 20 {
			l.pod(i, 0)
		}
		l.pod(i, i%8)
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := l.planner().plan(context.Background())
		if err != nil || len(p.Actions) == 0 {
			b.Fatalf("%d actions, %v", len(p.Actions), err)
		}
	}
}
