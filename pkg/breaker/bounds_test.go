package breaker

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCB27_MemoryIsBounded by a million failures, and by as many hosts, kinds and
// causes as there are failures.
func TestCB27_MemoryIsBounded(t *testing.T) {
	for _, tt := range []struct {
		n     int
		every int // a success after so many failures, or it opens and counts no more
		work  func(i int) (Work, error)
	}{
		{1_000_000, 500, func(int) (Work, error) { return Work{}, errBoom }},
		{10_000, 500, func(i int) (Work, error) { return Work{Host: fmt.Sprint("host", i)}, fmt.Errorf("%1000d", i) }},
		{10_000, 1, func(i int) (Work, error) { return Work{Kind: fmt.Sprint("kind", i)}, fmt.Errorf("cause %d", i) }},
	} {
		t.Run(fmt.Sprint(tt.n, tt.every), func(t *testing.T) {
			s := with(t, func(c *Config) {
				c.FailureThreshold, c.FailureWindow = maxThreshold, maxDuration
				c.RatioPercent, c.RatioMinimum = 100, maxOutcomes
			})
			before := heap()
			for i := range tt.n {
				now := at(time.Duration(i))
				w, err := tt.work(i)
				s.RecordForeign(now, w, err, rack)
				if i%tt.every == 0 {
					s.RecordSuccess(now, w, rack)
				}
			}
			in(t, s, at(time.Duration(tt.n)), rack, Closed)
			if grown := heap() - before; grown > 2<<20 {
				t.Errorf("%d KiB more after %d failures", grown>>10, tt.n)
			}
			runtime.KeepAlive(s)
		})
	}
}

// heap is what is alive, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestQuietScopesCostLittle: what they need grows with what they record.
func TestQuietScopesCostLittle(t *testing.T) {
	s, scopes := many(t, 1000)
	before := heap()
	for _, scope := range scopes {
		settled(t, yes(t, s, start, scope).Succeed(start, Work{Kind: "deploy"}))
	}
	if per := (heap() - before) / 1000; per > 1024 {
		t.Errorf("%d bytes for a scope with one outcome", per)
	}
	runtime.KeepAlive(s)
}

func TestEventsAreBoundedAndInOrder(t *testing.T) {
	s := with(t, nil)
	for i := range maxEvents { // two events each
		s.Trip(at(time.Duration(i)), Scope{"s", fmt.Sprint(i)}, 0)
		s.Reset(at(time.Duration(i)), Scope{"s", fmt.Sprint(i)})
	}
	events := s.Events()
	if len(events) != maxEvents {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events {
		from := maxEvents/2 + i/2
		want := Event{Scope: Scope{"s", fmt.Sprint(from)}, From: Closed, To: Open, At: at(time.Duration(from)), ByHand: true}
		if i%2 == 1 {
			want.From, want.To = Open, Closed
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Fatal(diff)
		}
	}
	if s.Events() != nil {
		t.Error("events come twice")
	}
}

func TestAllIsSortedByText(t *testing.T) {
	s := with(t, nil)
	s.Take(start, Scope{"b", ""}, Scope{"a", "z"}, Scope{"a:", ""}, Scope{"a", ""}, rack)
	var texts []string
	for _, st := range s.All(start) {
		texts = append(texts, st.Scope.String())
	}
	if diff := cmp.Diff([]string{"a", "a%3A", "a:z", "b", "group:rack1"}, texts); diff != "" {
		t.Error(diff)
	}
}
