package child

import (
	"bytes"
	"strings"
	"sync"
)

// LogBook is the log of a process (Command.Log), read while it is written. The zero value
// is an empty one; its methods may be called from several goroutines.
type LogBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to it; it always succeeds.
func (b *LogBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is all that was written until now.
func (b *LogBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Tail is its end, for an error message.
func (b *LogBook) Tail() string { return Tail(b.String()) }

// Count counts the lines that contain all words.
func (b *LogBook) Count(words ...string) int { return len(b.lines(words)) }

// Line returns the first line that contains all words.
func (b *LogBook) Line(words ...string) (line string, ok bool) {
	if found := b.lines(words); len(found) > 0 {
		return found[0], true
	}
	return "", false
}

func (b *LogBook) lines(words []string) (found []string) {
lines:
	for line := range strings.Lines(b.String()) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue lines
			}
		}
		found = append(found, line)
	}
	return found
}
