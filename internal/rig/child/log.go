package child

import (
	"bytes"
	"strings"
	"sync"
)

// Tail returns the end of a text, for an error message.
func Tail(s string) string { return s[max(0, len(s)-12<<10):] }

// LogBook is the log of a process (Command.Log). The zero value is empty. Its methods are safe for concurrent use.
type LogBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer. It never fails.
func (b *LogBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns all that was written so far.
func (b *LogBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Tail returns the end of the log, for an error message.
func (b *LogBook) Tail() string { return Tail(b.String()) }

// Lines returns the lines that have all words.
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
