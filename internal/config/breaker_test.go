package config

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultsOfTheBreaker(t *testing.T) {
	c, warnings, err := load(t)
	want := Breaker{Enabled: true, Threshold: 10, RecoveryTimeout: 15 * time.Minute}
	if diff := cmp.Diff(want, c.Breaker); diff != "" || err != nil || warnings != nil {
		t.Errorf("error %v, warnings %q (-want +got):\n%s", err, warnings, diff)
	}
}

// What cannot be read switches nothing off (CB-21).
func TestBreakerEnabledTypoRefusesTheStart(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "false": false, "FALSE": false} {
		if c, _, err := load(t, ours("BREAKER_ENABLED", " "+text+" ")); c.Breaker.Enabled != want || err != nil {
			t.Errorf("%q: %t, %v", text, c.Breaker.Enabled, err)
		}
	}
	for _, text := range []string{"fasle", "ture", "0", "1", "no", "yes", "on", "off"} {
		oneFault(t, "BREAKER_ENABLED", text, "must be true or false")
	}
}

func TestBoundsOfTheBreaker(t *testing.T) {
	for _, row := range []struct {
		name      string
		low, high int
		field     func(Breaker) int
	}{
		{"BREAKER_THRESHOLD", 2, 1000, func(b Breaker) int { return b.Threshold }}, // one host alone opens nothing
		{"BREAKER_RATE_LIMIT_PER_MINUTE", 0, 10_000, func(b Breaker) int { return b.RateLimitPerMinute }},
	} {
		for _, n := range []int{row.low, row.high} {
			if c, _, err := load(t, ours(row.name, fmt.Sprint(n))); row.field(c.Breaker) != n || err != nil {
				t.Errorf("%s=%d: %d, %v", row.name, n, row.field(c.Breaker), err)
			}
		}
		rule := fmt.Sprintf("must be a whole number %d..%d", row.low, row.high)
		for _, text := range []string{fmt.Sprint(row.low - 1), fmt.Sprint(row.high + 1), "-1", "x", "2.5", "50%", "1e2"} {
			oneFault(t, row.name, text, rule)
		}
	}
}

func TestTimesOfTheBreaker(t *testing.T) {
	for name, field := range map[string]func(Breaker) time.Duration{
		"BREAKER_RECOVERY_TIMEOUT": func(b Breaker) time.Duration { return b.RecoveryTimeout },
	} {
		for text, want := range map[string]time.Duration{"1ms": time.Millisecond, "90s": 90 * time.Second, "720h": 720 * time.Hour} {
			if c, _, err := load(t, ours(name, text)); field(c.Breaker) != want || err != nil {
				t.Errorf("%s=%s: %v, %v", name, text, field(c.Breaker), err)
			}
		}
		for _, text := range []string{"0", "0s", "-1s", "999us", "720h1s", "15", "soon", "1h 30m"} {
			oneFault(t, name, text, "must be a duration with its unit, 1ms..720h")
		}
	}
}

func TestTheThresholdOfGroupsFollows(t *testing.T) {
	for threshold, want := range map[int]int{2: 2, 6: 2, 7: 3, 10: 3, 11: 4, 20: 6, 1000: 300} {
		if got := (Breaker{Threshold: threshold}).GroupThreshold(); got != want {
			t.Errorf("%d: %d, want %d", threshold, got, want)
		}
	}
}
