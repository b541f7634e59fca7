package clusterhosts

import (
	"strings"
	"testing"
	"time"
)

func TestHoldsOfHostsAreAboveThoseOfTheSettings(t *testing.T) {
	n := newHoldoffs()
	settings := map[string]time.Duration{"metal3/a": time.Hour, "metal3/b": time.Hour}
	for _, step := range []struct {
		host, text string
		news       bool
		want       map[string]time.Duration
	}{
		{"metal3/a", "", false, settings},
		{"metal3/a", "48h", true, map[string]time.Duration{"metal3/a": 48 * time.Hour, "metal3/b": time.Hour}},
		{"metal3/a", "48h", false, map[string]time.Duration{"metal3/a": 48 * time.Hour, "metal3/b": time.Hour}},
		{"metal3/c", "0", true, map[string]time.Duration{"metal3/a": 48 * time.Hour, "metal3/b": time.Hour, "metal3/c": 0}},
		{"metal3/a", "soon", true, map[string]time.Duration{"metal3/a": time.Hour, "metal3/b": time.Hour, "metal3/c": 0}},
		{"metal3/c", "", true, settings},
	} {
		n.note(step.host, step.text)
		news := false
		select {
		case <-n.changed:
			news = true
		default:
		}
		got := n.over(settings, 48*time.Hour)
		if news != step.news || len(got) != len(step.want) {
			t.Errorf("%s=%q: news %v, %v, want %v", step.host, step.text, news, got, step.want)
		}
		for host, d := range step.want {
			if got[host] != d {
				t.Errorf("%s=%q: %s has %v, want %v", step.host, step.text, host, got[host], d)
			}
		}
	}
	if f := n.faults(); len(f) != 1 || !strings.Contains(f[0], `metal3/a: annotation ironic-throttle.metal3.io/holdoff="soon" is ignored: must be a duration`) {
		t.Errorf("%q", f)
	}
	for _, host := range []string{"b", "c", "d", "e", "f", "g"} {
		n.note("metal3/"+host, "-1h")
	}
	if f := n.faults(); len(f) != maxFaults+1 || f[maxFaults] != "annotations of 2 more hosts cannot be read" {
		t.Errorf("%q", f)
	}
	if f := n.fault("metal3", "g"); !strings.HasPrefix(f, `annotation ironic-throttle.metal3.io/holdoff="-1h" is ignored: must be`) || n.fault("metal3", "x") != "" {
		t.Errorf("%q", f)
	}
	n.note("metal3/a", "876000h") // others would be paused with it, by MAX_FAILED
	if got := n.over(settings, 48*time.Hour)["metal3/a"]; got != 48*time.Hour {
		t.Errorf("held for %v", got)
	}
	if len(settings) != 2 {
		t.Error("the settings were changed")
	}
}
