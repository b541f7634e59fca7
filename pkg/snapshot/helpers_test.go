package snapshot

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

var errDown = errors.New("source is down")

// source is what the tests cache: one number per key, which set changes.
type source struct {
	mu            sync.Mutex
	values        map[string]int
	bumps         map[string]int // changes that leave the value as it is
	listErr       error
	probeErr      error
	lists, probes int
	cancelled     int // lists that ended with their ctx
	// slow, when set, is called by List after it has read the value.
	slow func(ctx context.Context, nth int) error
}

func newSource() *source { return &source{values: map[string]int{}, bumps: map[string]int{}} }

func (s *source) set(key string, v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = v
}

// bump makes the probe of key tell of a change.
func (s *source) bump(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bumps[key]++
}

func (s *source) fails(list, probe error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listErr, s.probeErr = list, probe
}

func (s *source) list(ctx context.Context, key string) (int, error) {
	s.mu.Lock()
	s.lists++
	nth, v, err, slow := s.lists, s.values[key], s.listErr, s.slow
	s.mu.Unlock()
	if slow != nil {
		if err := slow(ctx, nth); err != nil {
			s.mu.Lock()
			s.cancelled++
			s.mu.Unlock()
			return 0, err
		}
	}
	return v, err
}

func (s *source) probe(_ context.Context, key string) (Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probes++
	return Token(s.values[key])<<32 + Token(s.bumps[key]), s.probeErr
}

func (s *source) asked() (lists, probes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.probes
}

// takes makes each list last so long.
func takes(d time.Duration) func(context.Context, int) error {
	return func(ctx context.Context, _ int) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// options are those of a cache without a probe whose entries live for 30 s.
func (s *source) options() Options[string, int] {
	return Options[string, int]{List: s.list, MaxAge: 30 * time.Second}
}

// probed are options whose every Get probes.
func (s *source) probed() Options[string, int] {
	o := s.options()
	o.Probe = s.probe
	return o
}

func open[V any](t testing.TB, o Options[string, V]) *Cache[string, V] {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// get is a Get that has to succeed.
func get[V any](t testing.TB, c *Cache[string, V], key string) *Snapshot[V] {
	t.Helper()
	snap, err := c.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("Get(%q): %v", key, err)
	}
	return snap
}

// holds compares a number of something with what it has to be.
func holds[N comparable](t testing.TB, what string, got, want N) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// wantsLists compares how often the source was listed.
func (s *source) wantsLists(t testing.TB, lists int) {
	t.Helper()
	l, _ := s.asked()
	holds(t, "lists", l, lists)
}

// wants compares how often the source was asked.
func (s *source) wants(t testing.TB, lists, probes int) {
	t.Helper()
	l, p := s.asked()
	holds(t, "lists", l, lists)
	holds(t, "probes", p, probes)
}

// gets is how many Gets have ended.
func gets(st Stats) uint64 {
	m := st.Misses
	return st.Hits + m.Error + m.Cold + m.Probe + m.Age + m.Overlay
}

// pass lets time go by in a synctest bubble.
func pass(d time.Duration) { <-time.After(d) }
