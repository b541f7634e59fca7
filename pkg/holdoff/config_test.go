package holdoff_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestSettingsThatCannotBeUsedAreNamed(t *testing.T) {
	for fault, change := range map[string]func(*holdoff.Config){
		"timeout: -1s":         func(c *holdoff.Config) { c.Timeout = -time.Second },
		`stage: "later"`:       func(c *holdoff.Config) { c.Stage = "later" },
		"growth: 0.5":          func(c *holdoff.Config) { c.Growth = 0.5 },
		"growth: 11":           func(c *holdoff.Config) { c.Growth = 11 },
		"growth: NaN":          func(c *holdoff.Config) { c.Growth = math.NaN() },
		"growth cap: -1s":      func(c *holdoff.Config) { c.GrowthCap = -time.Second },
		`hosts: "a"`:           func(c *holdoff.Config) { c.Hosts = map[string]time.Duration{"a": 1} },
		`hosts: "/a"`:          func(c *holdoff.Config) { c.Hosts = map[string]time.Duration{"/a": 1} },
		`hosts: "a/"`:          func(c *holdoff.Config) { c.Hosts = map[string]time.Duration{"a/": 1} },
		`hosts: "a/b/c"`:       func(c *holdoff.Config) { c.Hosts = map[string]time.Duration{"a/b/c": 1} },
		`hosts: "a~b/c"`:       func(c *holdoff.Config) { c.Hosts = map[string]time.Duration{"a~b/c": 1} },
		"hosts: a/b=-1ns must": func(c *holdoff.Config) { c.Hosts = map[string]time.Duration{"a/b": -1} },
	} {
		cfg := holdoff.DefaultConfig()
		change(&cfg)
		if _, err := holdoff.New(cfg, nil); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v", fault, err)
		}
	}
}

func TestOffByDefault(t *testing.T) {
	cfg := holdoff.DefaultConfig()
	if cfg.Validate() != nil || cfg.On() {
		t.Errorf("%+v: %v", cfg, cfg.Validate())
	}
	if cfg.Hosts = map[string]time.Duration{"a/b": 0}; cfg.On() {
		t.Error("a host that is never held turns it on")
	}
	if cfg.Hosts = map[string]time.Duration{"a/b": 1}; !cfg.On() {
		t.Error("one host that may be held does not turn it on")
	}
}

// No hold overflows, is shorter than the plain one, or longer than the cap says.
func TestGrowthStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := holdoff.DefaultConfig()
		cfg.Timeout = time.Duration(rapid.OneOf(rapid.Int64Min(0), rapid.Just(int64(1)<<62)).Draw(rt, "timeout"))
		cfg.GrowthCap = time.Duration(rapid.OneOf(rapid.Int64Min(0), rapid.Just(int64(math.MaxInt64))).Draw(rt, "cap"))
		cfg.Growth = rapid.OneOf(rapid.Float64Range(1, 10), rapid.Just(2.0)).Draw(rt, "growth")
		b, err := holdoff.New(cfg, nil)
		if err != nil {
			rt.Fatal(err)
		}
		last := time.Duration(0)
		for i := range rapid.IntRange(1, 30).Draw(rt, "failures") {
			b.Failed(start, holdoff.Failure{UUID: "a", Token: string(rune('a' + i)), Kind: holdoff.Cleaning})
			e, _ := b.Entry(start, "a")
			if slack := cfg.Timeout >> 50; e.Remaining < cfg.Timeout-slack || e.Remaining > max(cfg.Timeout, cfg.GrowthCap) || e.Remaining < last {
				rt.Fatalf("failure %d holds for %v, the one before for %v", i+1, e.Remaining, last)
			}
			last = e.Remaining
		}
	})
}

func TestMaxFailed(t *testing.T) {
	for _, row := range []struct {
		text                   string
		failed, hosts, allowed int
		exceeded               bool
	}{
		{"0", 0, 10, 0, false}, {"0", 1, 10, 0, true}, {"3", 3, 10, 3, false}, {"3", 4, 4, 3, true},
		{"40%", 4, 10, 4, false}, {"40%", 5, 10, 4, true}, {"40%", 4, 9, 3, true}, {"0%", 1, 5, 0, true},
		{"40%", 4, 4, 1, false}, // too few for a percentage
		{"100%", 10, 10, 10, false}, {"1000000", 9, 9, 1_000_000, false},
	} {
		q, err := holdoff.ParseQuota(row.text)
		if err != nil {
			t.Fatal(err)
		}
		if q.Allowed(row.hosts) != row.allowed || q.Exceeded(row.failed, row.hosts) != row.exceeded || (q != holdoff.Quota{}) != (row.text != "100%") {
			t.Errorf("%s: %d of %d: allowed %d, exceeded %v", row.text, row.failed, row.hosts, q.Allowed(row.hosts), q.Exceeded(row.failed, row.hosts))
		}
	}
	for _, text := range []string{"", "%", "-1", "+1", "1.5", "101%", "1000001", "many", "3 ", strings.Repeat("9", 1000)} {
		if q, err := holdoff.ParseQuota(text); err == nil || q != (holdoff.Quota{}) || len(err.Error()) > 250 {
			t.Errorf("%.20q: %+v, %v", text, q, err)
		}
	}
}
