package demo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // "" is no error
	}{
		{"", ""},
		{"--hosts 1 --tenants 1 --limit 1000 --workers 256 --failing 1 --speed 300 --via gateway", ""},
		{"--policy bmo --keep --failing 0 --seed 7 --via check --speed 0", ""},
		{"--hosts 1001 --limit 0 --workers 0", "--hosts 1001: must be 1 to 1000\n--limit 0: must be 1 to 1000\n--workers 0: must be 1 to 256"},
		{"--hosts 3 --tenants 4", "--tenants 4: must be 1 to 3"},
		{"--failing NaN", "--failing NaN: must be 0 to 1"},
		{"--speed 0.5", "--speed 0.5: must be 1 to 300, or 0 for the usual one"},
		{"--policy bmo --via gateway", "--via gateway: must be check with --policy bmo, which has no gateway"},
		{"--via phone", `--via "phone": must be check or gateway`},
		{"--policy none", `--policy "none": must be throttle or bmo`},
	} {
		t.Run(c.args, func(t *testing.T) {
			o := DefaultOptions()
			fs := pflag.NewFlagSet("demo", pflag.ContinueOnError)
			o.Flags(fs)
			if err := fs.Parse(strings.Fields(c.args)); err != nil {
				t.Fatal(err)
			}
			err := o.Validate()
			if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestSettings: whatever the speed, the times that hold the limit stay long
// enough for a busy machine, and keep their rules among each other.
func TestSettings(t *testing.T) {
	for _, speed := range []float64{1, 10, 50, 180, 300} {
		o := DefaultOptions()
		o.Speed = speed
		c := settings(o, "http://127.0.0.1:1")
		for _, rule := range []struct {
			name string
			ok   bool
		}{
			{"poll >= 50ms", c.View.PollInterval >= 50*time.Millisecond},
			{"max stale >= poll, and 2s", c.View.MaxStale >= c.View.PollInterval && c.View.MaxStale >= 2*time.Second},
			{"TTL >= 6s", c.Leases.TTL >= 6*time.Second},
			{"TTL >= 2 x poll", c.Leases.TTL >= 2*c.View.PollInterval},
			{"linger >= 1.5s", c.Leases.Linger >= 1500*time.Millisecond},
			{"settle >= linger", c.Leases.StartupSettle >= c.Leases.Linger},
			{"limit", c.Limits.Total == o.Limit},
			{"loopback", c.Listen.API == "127.0.0.1:0" && c.Listen.Health == "" && c.Listen.Metrics == "127.0.0.1:0" && c.Gateway.Listen == ""},
		} {
			if !rule.ok {
				t.Errorf("speed %v: %s: %+v %+v", speed, rule.name, c.View, c.Leases)
			}
		}
	}
	o := DefaultOptions()
	o.Via = measure.ViaGateway
	if c := settings(o, ""); c.Gateway.Listen != "127.0.0.1:0" {
		t.Errorf("via gateway: %+v", c.Gateway)
	}
	o.Speed = 1
	if c := settings(o, ""); c.View.PollInterval != 5*time.Second || c.Leases.Linger != 45*time.Second || c.Leases.TTL != 5*time.Minute {
		t.Errorf("at speed 1 the settings are not the usual ones: %+v %+v", c.View, c.Leases)
	}
}

func TestFleet(t *testing.T) {
	o := DefaultOptions()
	hosts := fleet(o)
	tenants, failing, names := make([]int, o.Tenants), 0, map[string]bool{}
	for _, h := range hosts {
		tenants[h.tenant]++
		names[h.Key()] = true
		if h.failing {
			failing++
		}
	}
	if len(names) != 100 || failing != 5 || tenants[0] != 66 || tenants[1] != 17 || tenants[2] != 17 {
		t.Errorf("%d names, %d failing, tenants %v", len(names), failing, tenants)
	}
	if again := fleet(o); again[0] != hosts[0] || again[99] != hosts[99] {
		t.Error("the same seed gives another fleet")
	}
	o.Hosts, o.Tenants = 5, 5
	tenants = make([]int, 5)
	for _, h := range fleet(o) {
		tenants[h.tenant]++
	}
	if slices.Contains(tenants, 0) {
		t.Errorf("as many hosts as tenants: %v", tenants)
	}
	now := time.Now()
	w, err := newWorld(DefaultOptions().usual(), hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.States(now)[ironic.Enroll]; got != 100 || hosts[0].uuid == "" {
		t.Errorf("%d nodes, %+v", got, hosts[0])
	}
}
