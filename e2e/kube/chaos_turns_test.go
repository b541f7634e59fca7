//go:build e2e

package kube

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// turns holds the lives of replicas to the law of their election: they decide one after
// the other, and whose turn is over has none any more. Each sign that somebody decides
// came about at an unknown moment between its begin and its end; what begins after
// another one's sign has ended is later than that. It is safe for concurrent use.
type turns struct {
	mu     sync.Mutex
	lives  []*turn // by their first signs
	broken []string
}

// turn is what is known of one life's.
type turn struct {
	life  string
	first time.Time // end of its first sign
	signs int
}

// sign notes that life decided at a moment between begin and end.
func (s *turns) sign(life, what string, begin, end time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var mine *turn
	for _, t := range s.lives {
		switch {
		case t.life == life:
			mine = t
			mine.signs++
		case mine != nil && begin.After(t.first): // a later one
			s.broken = append(s.broken, fmt.Sprintf("%s: %s, begun %s after the first sign of %s",
				life, what, begin.Sub(t.first), t.life))
		}
	}
	if mine == nil {
		s.lives = append(s.lives, &turn{life: life, first: end, signs: 1})
	}
}

// whose is the life whose turn it is, as far as is known; empty: nobody's yet.
func (s *turns) whose() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lives) == 0 {
		return ""
	}
	return s.lives[len(s.lives)-1].life
}

// count is how many turns have begun.
func (s *turns) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lives)
}

// violations tells every sign that came after the life's turn, once.
func (s *turns) violations() (broken []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	broken, s.broken = s.broken, nil
	return broken
}

// String lists the lives that had a turn.
func (s *turns) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	for _, t := range s.lives {
		fmt.Fprintf(&text, "%s (%d signs) ", t.life, t.signs)
	}
	return text.String()
}

// TestTheLawOfTurnsFindsWhatBreaksIt is about the judge, not about the product.
func TestTheLawOfTurnsFindsWhatBreaksIt(t *testing.T) {
	t.Parallel()
	type sign struct {
		life       string
		begin, end int
	}
	for name, tc := range map[string]struct {
		signs  []sign
		broken int
	}{
		"nothing":            {nil, 0},
		"one":                {[]sign{{"a", 0, 1}, {"a", 2, 3}}, 0},
		"one after another":  {[]sign{{"a", 0, 1}, {"b", 2, 3}, {"b", 4, 5}, {"c", 6, 7}}, 0},
		"overlap":            {[]sign{{"a", 0, 5}, {"b", 1, 6}, {"a", 5, 9}}, 0},
		"told late":          {[]sign{{"a", 0, 1}, {"b", 4, 5}, {"a", 2, 6}}, 0},
		"comes back":         {[]sign{{"a", 0, 1}, {"b", 2, 3}, {"a", 4, 5}}, 1},
		"both go on":         {[]sign{{"a", 0, 1}, {"b", 2, 3}, {"a", 4, 5}, {"b", 6, 7}, {"a", 8, 9}}, 2},
		"two turns too late": {[]sign{{"a", 0, 1}, {"b", 2, 3}, {"c", 4, 5}, {"a", 6, 7}}, 2},
	} {
		var s turns
		epoch := time.Now()
		at := func(n int) time.Time { return epoch.Add(time.Duration(n) * time.Second) }
		for _, one := range tc.signs {
			s.sign(one.life, "yes", at(one.begin), at(one.end))
		}
		if got := s.violations(); len(got) != tc.broken {
			t.Errorf("%s: %q, want %d", name, got, tc.broken)
		}
	}
}
