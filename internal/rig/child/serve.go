package child

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	startWithin = time.Minute      // the longest wait for a server that listens
	endWithin   = 30 * time.Second // and for one that was asked to end
)

// Run starts a program that ends with the test at the latest: by SIGKILL, unless it has a
// Death of its own, which tells that it should be asked first. A test that fails shows its
// log.
func Run(tb testing.TB, c Command) (*Process, *LogBook) {
	tb.Helper()
	log := &LogBook{}
	c.Log = log
	p, err := Start(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if c.Death != 0 {
			p.Stop(endWithin)
		}
		p.Kill()
		if tb.Failed() {
			tb.Logf("the log of %s %s:\n%s", p.Name(), strings.Join(c.Args, " "), log)
		}
	})
	return p, log
}

// Serve is Run for a command of the product that takes --ready-file. It returns when the
// server listens; at is told where.
func Serve(tb testing.TB, c Command, at any) (*Process, *LogBook) {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "ready.json")
	c.Args = append(slices.Clone(c.Args), "--ready-file", file)
	p, log := Run(tb, c)
	ctx, cancel := context.WithTimeout(tb.Context(), startWithin)
	defer cancel()
	if err := p.ReadyFile(ctx, file, at); err != nil {
		tb.Fatalf("start: %v", err)
	}
	return p, log
}
