package api

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails when goroutines outlive the tests. goleak would do it; this module requires no other, not even for
// its tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leaked(); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "goroutines are left:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// leaked is the stacks of goroutines that have not ended in ten seconds, besides the caller's and that of signals,
// which go test uses.
func leaked() string {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var left []string
	for range 1000 {
		buf := make([]byte, 1<<20)
		left = nil
		for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")[1:] {
			if !strings.Contains(stack, "os/signal.") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			break
		}
		<-tick.C
	}
	return strings.Join(left, "\n\n")
}
