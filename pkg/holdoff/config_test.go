package holdoff_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestBO13_Validate(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*holdoff.Config)
		want   []string // in the error; none = valid
	}{
		{"default", func(*holdoff.Config) {}, nil},
		{"days", func(c *holdoff.Config) { c.Timeout = 48 * time.Hour }, nil},
		{"for ever", func(c *holdoff.Config) { c.Timeout, c.GrowthCap, c.Growth = math.MaxInt64, math.MaxInt64, 10 }, nil},
		{"no cap", func(c *holdoff.Config) { c.GrowthCap = 0 }, nil},
		{"hosts", func(c *holdoff.Config) {
			c.Hosts = map[string]time.Duration{"a/b": 0, "metal3/host-1.x": math.MaxInt64}
		}, nil},
		{"negative", func(c *holdoff.Config) { c.Timeout = -1 }, []string{"timeout: -1ns must not be negative"}},
		{"no stage", func(c *holdoff.Config) { c.Stage = "" }, []string{`stage: "" must be retry or remediate`}},
		{"a stage", func(c *holdoff.Config) { c.Stage = "Retry" }, []string{`stage: "Retry"`}},
		{"shrinks", func(c *holdoff.Config) { c.Growth = 0.99 }, []string{"growth: 0.99 must be from 1 (none) to 10"}},
		{"grows too fast", func(c *holdoff.Config) { c.Growth = 10.1 }, []string{"growth: 10.1"}},
		{"no number", func(c *holdoff.Config) { c.Growth = math.NaN() }, []string{"growth: NaN"}},
		{"infinite", func(c *holdoff.Config) { c.Growth = math.Inf(1) }, []string{"growth: +Inf"}},
		{"negative cap", func(c *holdoff.Config) { c.GrowthCap = -time.Hour }, []string{"growth cap: -1h0m0s"}},
		{"negative host", func(c *holdoff.Config) { c.Hosts = map[string]time.Duration{"a/b": -1} }, []string{"hosts: a/b=-1ns must not be negative"}},
		{"names", func(c *holdoff.Config) {
			c.Hosts = map[string]time.Duration{"a": 0, "/b": 0, "c/": 0, "d/e/f": 0, "g~h": 0, "i/j~k": 0, "l~m/n": 0}
		}, []string{
			`"/b"`, `hosts: "a" must be namespace/name`, `"c/"`, `"d/e/f"`, `"g~h"`, `"i/j~k"`, `"l~m/n"`,
		}},
		{"everything", func(c *holdoff.Config) { *c = holdoff.Config{Timeout: -1, GrowthCap: -1} }, []string{
			"timeout: ", "stage: ", "growth: ", "growth cap: ",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := holdoff.DefaultConfig()
			row.change(&c)
			err := c.Validate()
			if (err == nil) != (len(row.want) == 0) {
				t.Fatalf("error %v", err)
			}
			rest := ""
			if err != nil {
				rest = err.Error()
			}
			for _, want := range row.want { // in this order
				at := strings.Index(rest, want)
				if at < 0 {
					t.Fatalf("error %v, want %s", err, want)
				}
				rest = rest[at+len(want):]
			}
			if _, newErr := holdoff.New(c, begin, true); (newErr == nil) != (err == nil) {
				t.Errorf("New: %v", newErr)
			}
		})
	}
}

func TestConfigureRefusesAndKeeps(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	bad := s.cfg
	bad.Timeout, bad.Growth = time.Second, 0
	if err := s.b.Configure(s.now, bad); err == nil {
		t.Error("accepted")
	}
	s.isHeld(provision(), hold)
	// Nor does the Book share the caller's map.
	good := s.cfg
	good.Hosts = map[string]time.Duration{"metal3/a": time.Hour}
	if err := s.b.Configure(s.now, good); err != nil {
		t.Fatal(err)
	}
	good.Hosts["metal3/a"] = 0
	s.isHeld(provision(), time.Hour)
}

func TestBO13_SumsSaturate(t *testing.T) {
	s := newStage(t, func(c *holdoff.Config) { c.Timeout, c.GrowthCap, c.Growth = math.MaxInt64, math.MaxInt64, 10 })
	for n := range 50 {
		s.fails(failure(n))
		s.isHeld(provision(), math.MaxInt64)
		s.wait(24 * time.Hour)
		if v := s.b.Ask(s.now, provision()); !v.Held || v.Wait != math.MaxInt64-24*time.Hour || v.Until.Before(s.now) {
			t.Fatalf("%+v", v)
		}
	}
}

func TestBO5_NoGrowthIsExact(t *testing.T) {
	const odd = 200*24*time.Hour + 1 // more digits than a float64 has
	s := newStage(t, func(c *holdoff.Config) { c.Timeout, c.GrowthCap = odd, 2*odd })
	for n := range 3 {
		s.fails(failure(n))
		s.isHeld(provision(), odd)
	}
}

func TestBO5_GrowthIsALaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := holdoff.DefaultConfig()
		c.Timeout = time.Duration(rapid.Int64Min(1).Draw(rt, "T"))
		c.GrowthCap = time.Duration(rapid.Int64Min(0).Draw(rt, "cap"))
		c.Growth = rapid.Float64Range(1, 10).Draw(rt, "growth")
		b, err := holdoff.New(c, begin, true)
		if err != nil {
			rt.Fatal(err)
		}
		last := time.Duration(0)
		for n := range 60 {
			b.Failed(begin, failure(n))
			v := b.Ask(begin, provision())
			if v.Wait < max(last, c.Timeout) || v.Wait > max(c.Timeout, c.GrowthCap) || n == 0 && v.Wait != c.Timeout {
				rt.Fatalf("failure %d holds %d, the one before %d, of %+v", n+1, v.Wait, last, c)
			}
			last = v.Wait
		}
		if most := max(c.Timeout, c.GrowthCap); c.Growth > 3 && last != most {
			rt.Fatalf("the last holds %v, want the cap %v", last, most)
		}
	})
}
