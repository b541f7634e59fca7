package clusterhosts

import (
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
)

func TestHoldsOfHostsAreAboveThoseOfTheSettings(t *testing.T) {
	h := New(time.Now, slog.New(slog.DiscardHandler))
	h.Directory, h.Leads = twoHosts{}, func() bool { return true }
	settings := map[string]time.Duration{"metal3/a": time.Hour, "metal3/b": time.Hour}
	before := map[string]*hosts.Host{}
	asks := func(name, holdoff string) {
		now := &hosts.Host{Namespace: "metal3", Name: name, Holdoff: holdoff}
		h.Changed(before[name], now)
		before[name] = now
	}
	for _, step := range []struct {
		host, text string
		news       bool
		want       map[string]time.Duration
	}{
		{"a", "", false, settings},
		{"a", "48h", true, map[string]time.Duration{"metal3/a": 48 * time.Hour, "metal3/b": time.Hour}},
		{"a", "48h", false, map[string]time.Duration{"metal3/a": 48 * time.Hour, "metal3/b": time.Hour}},
		{"c", "0", true, map[string]time.Duration{"metal3/a": 48 * time.Hour, "metal3/b": time.Hour, "metal3/c": 0}},
		{"a", "soon", true, map[string]time.Duration{"metal3/a": time.Hour, "metal3/b": time.Hour, "metal3/c": 0}},
		{"c", "", true, settings},
		{"d", "876000h", true, map[string]time.Duration{"metal3/a": time.Hour, "metal3/b": time.Hour, "metal3/d": 48 * time.Hour}}, // others would be paused with it, by MAX_FAILED
	} {
		asks(step.host, step.text)
		if news := len(h.HoldoffsChanged()) > 0; news {
			<-h.HoldoffsChanged()
			if !step.news {
				t.Errorf("%s=%q is news", step.host, step.text)
			}
		} else if step.news {
			t.Errorf("%s=%q is no news", step.host, step.text)
		}
		if got := h.Holdoffs(settings, 48*time.Hour); !maps.Equal(got, step.want) {
			t.Errorf("%s=%q: %v, want %v", step.host, step.text, got, step.want)
		}
	}
	if f := h.Warnings(); len(f) != 1 || !strings.Contains(f[0], `metal3/a: annotation ironic-throttle.metal3.io/holdoff="soon" is ignored: must be a duration`) {
		t.Errorf("%q", f)
	}
	for _, host := range []string{"b", "c", "d", "e", "f", "g"} {
		asks(host, "-1h")
	}
	if f := h.Warnings(); len(f) != maxFaults+1 || f[maxFaults] != "annotations of 2 more hosts cannot be read" {
		t.Errorf("%q", f)
	}
	if len(settings) != 2 {
		t.Error("the settings were changed")
	}
}
