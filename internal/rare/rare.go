// Package rare keeps lines that others can cause from filling the log.
package rare

import (
	"cmp"
	"sync"
	"time"
)

// Gap is the least time between two lines unless a Line says otherwise.
const Gap = 10 * time.Second

// Line is written once in a while. The zero value is ready. Safe for concurrent use.
type Line struct {
	Gap time.Duration // between two; 0: Gap

	mu   sync.Mutex // guards the rest
	last time.Time
	kept int
}

// Tell reports whether the line may be written, and how many were not before it.
func (l *Line) Tell(now time.Time) (kept int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since := now.Sub(l.last); !l.last.IsZero() && since >= 0 && since < cmp.Or(l.Gap, Gap) {
		l.kept++
		return 0, false
	}
	kept, l.last, l.kept = l.kept, now, 0
	return kept, true
}
