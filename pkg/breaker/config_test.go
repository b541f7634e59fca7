package breaker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
)

func TestTheDefaultIsThatOfTheProposal(t *testing.T) {
	want := breaker.Config{
		Mode: breaker.Consecutive, FailureThreshold: 3, FailureWindow: 5 * time.Minute, RecoveryTimeout: 15 * time.Minute,
		HalfOpenMaxRequests: 2, RateLimitPerMinute: 2, MaxConcurrent: 5,
	}
	if got := breaker.DefaultConfig(); got != want || got.Validate() != nil {
		t.Errorf("%+v, %v", got, got.Validate())
	}
}

func TestSettingsOutOfBoundsAreNamed(t *testing.T) {
	for field, change := range map[string]func(*breaker.Config){
		"mode":                   func(c *breaker.Config) { c.Mode = "sometimes" },
		"failure threshold":      func(c *breaker.Config) { c.FailureThreshold = 0 },
		"failure window":         func(c *breaker.Config) { c.FailureWindow = 0 },
		"recovery timeout":       func(c *breaker.Config) { c.RecoveryTimeout = -time.Second },
		"half-open max requests": func(c *breaker.Config) { c.HalfOpenMaxRequests = 0 },
		"rate limit per minute":  func(c *breaker.Config) { c.RateLimitPerMinute = -1 },
		"max concurrent":         func(c *breaker.Config) { c.MaxConcurrent = 0 },
		"ratio percent: 101":     func(c *breaker.Config) { c.RatioPercent, c.RatioMinimum = 101, 20 },
		"ratio percent: 0":       func(c *breaker.Config) { c.RatioMinimum = 20 },
		"ratio percent: 5":       func(c *breaker.Config) { c.RatioPercent, c.RatioMinimum = 5, 20 },
		"ratio minimum":          func(c *breaker.Config) { c.RatioPercent, c.RatioMinimum = 50, 1 },
	} {
		cfg := breaker.DefaultConfig()
		change(&cfg)
		_, base := breaker.New(cfg, nil, nil)
		_, kind := breaker.New(breaker.DefaultConfig(), map[string]breaker.Config{"image": cfg}, nil)
		if base == nil || !strings.Contains(base.Error(), field) {
			t.Errorf("%s: %v", field, base)
		}
		if kind == nil || !strings.Contains(kind.Error(), `"image"`) || !strings.Contains(kind.Error(), field) {
			t.Errorf("%s of a kind: %v", field, kind)
		}
	}
}

func TestScopesReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]breaker.Scope{
		"ironic": {Kind: "ironic"}, "group:rack1": {Kind: "group", Name: "rack1"}, "image:sha256:1": {Kind: "image", Name: "sha256:1"},
	} {
		if got, err := breaker.ParseScope(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ":x", "group:"} {
		if got, err := breaker.ParseScope(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
