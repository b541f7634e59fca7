// Package logging keeps lines that others can cause from filling the log.
package logging

import (
	"cmp"
	"sync"
	"time"
)

// Gap is the least time between two lines unless a Rare says otherwise.
const Gap = 10 * time.Second

// Rare is written once in a while. The zero value is ready. Safe for concurrent use.
type Rare struct {
	Gap time.Duration // between two; 0: Gap

	mu   sync.Mutex // guards the rest
	last time.Time
	kept int
}

// Tell reports whether the line may be written, and how many were not before it.
func (l *Rare) Tell(now time.Time) (kept int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since := now.Sub(l.last); !l.last.IsZero() && since >= 0 && since < cmp.Or(l.Gap, Gap) {
		l.kept++
		return 0, false
	}
	kept, l.last, l.kept = l.kept, now, 0
	return kept, true
}
