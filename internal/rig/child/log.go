package child

import (
	"bytes"
	"strings"
	"sync"
)

// Tail is the end of a text, for an error message.
func Tail(s string) string { return s[max(0, len(s)-12<<10):] }

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

// Lines are those that contain all words.
func (b *LogBook) Lines(words ...string) (found []string) {
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
