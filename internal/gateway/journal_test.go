package gateway_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// journal keeps the lines of a log.
type journal struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// logger writes everything.
func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write implements io.Writer.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// lines are those of at least a level, without their time.
func (j *journal) lines(levels ...string) (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
		for _, level := range levels {
			if strings.HasPrefix(line, "level="+level+" ") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// want wants so many lines of a level, each with all of the words.
func (j *journal) want(t *testing.T, level string, count int, words ...string) {
	t.Helper()
	lines := j.lines(level)
	if len(lines) != count {
		t.Errorf("%d lines of %s, want %d:\n%s", len(lines), level, count, strings.Join(lines, "\n"))
	}
	for _, line := range lines {
		for _, word := range words {
			if !strings.Contains(line, word) {
				t.Errorf("%q lacks %q", line, word)
			}
		}
	}
}

// empty forgets what was written.
func (j *journal) empty() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text.Reset()
}
