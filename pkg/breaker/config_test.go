package breaker

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestCB21_FaultsNameFieldAndValue(t *testing.T) {
	for _, tt := range []struct {
		spoil func(*Config)
		want  string
	}{
		{func(c *Config) { c.FailureThreshold = 0 }, "failure threshold: 0 is not within 1..1000"},
		{func(c *Config) { c.FailureThreshold = 1001 }, "failure threshold: 1001"},
		{func(c *Config) { c.FailureWindow = 0 }, "failure window: 0s is not more than 0 and at most 10000h0m0s"},
		{func(c *Config) { c.FailureWindow = math.MaxInt64 }, "failure window: 2562047h47m16.854775807s"},
		{func(c *Config) { c.RecoveryTimeout = -1 }, "recovery timeout: -1ns"},
		{func(c *Config) { c.RecoveryTimeout = maxDuration + 1 }, "recovery timeout: 10000h0m0.000000001s"},
		{func(c *Config) { c.HalfOpenMaxRequests = 0 }, "half-open max requests: 0 is not within 1..1000"},
		{func(c *Config) { c.HalfOpenMaxRequests = 1001 }, "half-open max requests: 1001"},
		{func(c *Config) { c.ProbeLifetime = -1 }, "probe lifetime: -1ns"},
		{func(c *Config) { c.RateLimitPerMinute = -1 }, "rate limit per minute: -1 is not within 0..10000"},
		{func(c *Config) { c.RateLimitPerMinute = 10_001 }, "rate limit per minute: 10001"},
		{func(c *Config) { c.MaxConcurrent = 0 }, "max concurrent: 0 is not within 1..1000000"},
		{func(c *Config) { c.MaxConcurrent = 1_000_001 }, "max concurrent: 1000001"},
		{func(c *Config) { c.Mode = "windows" }, `mode: "windows" is neither "consecutive" nor "window"`},
		{func(c *Config) { c.RatioPercent = 50 }, "ratio minimum: 0 is not within 2..512"},
		{func(c *Config) { c.RatioMinimum = 20 }, "ratio percent: 0 is not within 1..100"},
		{func(c *Config) { c.RatioPercent, c.RatioMinimum = 101, 513 }, "ratio percent: 101 is not within 1..100\nratio minimum: 513"},
		{func(c *Config) { c.RatioPercent, c.RatioMinimum = -1, -1 }, "ratio percent: -1"},
	} {
		cfg := DefaultConfig()
		tt.spoil(&cfg)
		if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
		_, err := New(nil, map[string]Config{"group": cfg})
		if want := `scopes of kind "group": ` + tt.want; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := New(&cfg, nil); err == nil {
			t.Errorf("New takes a config with %s", tt.want)
		}
	}
}

// TestCB21_AllFaultsAtOnce: those of the zero value, of cfg and of each kind, sorted.
func TestCB21_AllFaultsAtOnce(t *testing.T) {
	_, err := New(&Config{}, map[string]Config{"b": {}, "a": DefaultConfig(), "A": {}})
	if err == nil {
		t.Fatal("New takes the zero Config: it would allow nothing")
	}
	text := err.Error()
	last := 0
	for _, want := range []string{"failure threshold: 0", "failure window: 0s", "max concurrent: 0", `kind "A"`, "max concurrent", `kind "b"`} {
		i := strings.Index(text[last:], want)
		if i < 0 {
			t.Fatalf("no %q after byte %d of:\n%s", want, last, text)
		}
		last += i
	}
}

func TestZeroValuesThatStandForSomething(t *testing.T) {
	cfg := wide()
	cfg.Mode, cfg.ProbeLifetime = "", 0
	s := made(t, &cfg, nil)
	s.Trip(start, rack, 1)
	for range 2 {
		yes(t, s, at(1), rack)
	}
	refusedFor(t, s, at(1), rack, HalfOpen, time.Hour)
	cfg.FailureThreshold, cfg.HalfOpenMaxRequests = 99, 99 // is the caller's: the Set has its own
	if st := s.Status(at(1), rack); st.FailureThreshold != 3 || st.ProbeLimit != 2 || st.Mode != Consecutive {
		t.Errorf("%+v", st)
	}
	refusedFor(t, s, at(1), rack, HalfOpen, time.Hour)
}

func TestKindsHaveTheirOwnSettings(t *testing.T) {
	whole, group := wide(), wide()
	whole.FailureThreshold, group.FailureThreshold = 10, 2
	group.Mode = Window
	kinds := map[string]Config{"group": group}
	s := made(t, &whole, kinds)
	kinds["group"] = Config{}
	for range 2 {
		s.RecordForeign(start, Work{}, errBoom, ironic, rack)
	}
	if st := in(t, s, start, ironic, Closed); st.FailureThreshold != 10 || st.Mode != Consecutive {
		t.Errorf("%+v", st)
	}
	if st := in(t, s, start, rack, Open); st.FailureThreshold != 2 || st.Mode != Window {
		t.Errorf("%+v", st)
	}
}
