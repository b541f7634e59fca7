package breaker

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHosts holds the list by age against a plain map.
func TestHosts(t *testing.T) {
	const window = 10
	rapid.Check(t, func(t *rapid.T) {
		var h hosts
		var now time.Duration
		last := map[string]time.Duration{}
		for range rapid.IntRange(1, 50).Draw(t, "failures") {
			now += time.Duration(rapid.IntRange(0, 4).Draw(t, "step"))
			host := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "host"))
			at, known := last[host]
			if again := h.failed(host, now, window); again != (known && now-at < window) {
				t.Fatalf("%v: %s failed %v ago, known %v; again is %v", now, host, now-at, known, again)
			}
			last[host] = now
			young := 0
			for _, at := range last {
				if now-at < window {
					young++
				}
			}
			forth, back := 0, 0
			for f := h.oldest; f != nil && forth <= young; f = f.newer {
				forth++
			}
			for f := h.newest; f != nil && back <= young; f = f.older {
				back++
			}
			if len(h.by) != young || forth != young || back != young {
				t.Fatalf("%v: %d hosts, %d and %d in the list, want %d", now, len(h.by), forth, back, young)
			}
		}
	})
}
