//go:build e2e

package kube

import (
	"fmt"
	"strings"
	"sync"
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
