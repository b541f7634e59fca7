package breaker

import (
	"cmp"
	"fmt"
	"slices"
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
			listed := map[string]bool{}
			for _, f := range h.list {
				listed[f.host] = true
				if f.at != last[f.host] {
					t.Fatalf("%v: %s failed at %v, not %v", now, f.host, last[f.host], f.at)
				}
			}
			byAge := func(a, b lastFailure) int { return cmp.Compare(a.at, b.at) }
			if len(h.list) != young || len(listed) != young || !slices.IsSortedFunc(h.list, byAge) {
				t.Fatalf("%v: %v, want %d hosts, oldest first", now, h.list, young)
			}
		}
	})
}
