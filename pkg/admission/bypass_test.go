package admission_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// gated is a front with a gateway through which requests come as told.
func gated(t *testing.T, edit ...func(*admission.Config)) (f *front, requests *uint64) {
	requests = new(uint64)
	return newFront(t, 20, append(edit, func(c *admission.Config) {
		c.GatewayRequests = func() uint64 { return *requests }
	})...), requests
}

// pastTheGateway lets hosts begin to deploy that nobody let through.
func (f *front) pastTheGateway(hosts ...int) {
	for _, i := range hosts {
		f.of(i).AgentURL = true
		f.stamp(i, ironic.Deploying, "")
	}
	f.after(5 * time.Second)
}

// bypasses counts the notices.
func (f *front) bypasses() (begun, ended int) {
	for _, n := range f.notices {
		switch {
		case n.Kind != admission.BypassChanged:
		case n.Bypass != nil:
			begun++
		default:
			ended++
		}
	}
	return begun, ended
}

func (f *front) wantBypass(when string, hosts, begun, ended int) {
	f.Helper()
	s := f.Status(f.now)
	got := 0
	if s.Bypass != nil {
		got = s.Bypass.Hosts
	}
	if b, e := f.bypasses(); got != hosts || b != begun || e != ended {
		f.Errorf("%s: %d hosts past the gateway, begun %d times, ended %d times; want %d, %d, %d", when, got, b, e, hosts, begun, ended)
	}
	if said := strings.HasPrefix(s.Headline, "BMO goes round the gateway: "); said != (hosts > 0) {
		f.Errorf("%s: headline %q", when, s.Headline)
	}
}

func TestGW20_BMOGoesRoundTheGateway(t *testing.T) {
	f, requests := gated(t)
	f.pastTheGateway(1, 2)
	f.passes(time.Hour)
	f.wantBypass("two hosts", 0, 0, 0)
	f.pastTheGateway(3)
	f.wantBypass("three hosts", 3, 1, 0)
	f.pastTheGateway(4)
	f.wantBypass("once per spell", 4, 1, 0)
	if got, want := f.Status(f.now).Headline, "BMO goes round the gateway: nobody has used it for 1h10m, and 4 hosts have begun to work since."; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}

	*requests++
	f.passes(5 * time.Second)
	f.wantBypass("used again", 0, 1, 1)
	f.pastTheGateway(5, 6, 7)
	f.wantBypass("a moment later", 0, 1, 1)
	f.passes(6 * time.Minute)
	f.wantBypass("a second spell", 3, 2, 1)
}

func TestGW20_NoFalseAlarm(t *testing.T) {
	many := []int{1, 2, 3, 4, 5, 6}
	for _, row := range []struct {
		name string
		play func(f *front, requests *uint64)
	}{
		{"others use it a little", func(f *front, requests *uint64) {
			for _, i := range many {
				*requests++
				f.pastTheGateway(i)
				f.passes(4 * time.Minute)
			}
		}},
		{"hosts are asked about", func(f *front, _ *uint64) {
			for _, i := range many {
				f.starts(i)
				f.passes(4 * time.Minute)
			}
			f.pastTheGateway(7, 8, 9)
		}},
		{"hosts of others", func(f *front, _ *uint64) {
			for _, i := range many {
				f.of(i).Name = "lab"
			}
			f.pastTheGateway(many...)
			f.passes(time.Hour)
		}},
		{"nothing begins", func(f *front, _ *uint64) { f.passes(5 * time.Hour) }},
		{"virtual media", func(f *front, _ *uint64) {
			for _, i := range many {
				f.of(i).BootInterface = "redfish-virtual-media"
			}
			f.pastTheGateway(many...)
			f.passes(time.Hour)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, requests := gated(t)
			row.play(f, requests)
			f.wantBypass("never", 0, 0, 0)
		})
	}

	t.Run("no gateway", func(t *testing.T) {
		f := newFront(t, 20)
		f.pastTheGateway(many...)
		f.passes(time.Hour)
		f.wantBypass("never", 0, 0, 0)
	})

	t.Run("at the start", func(t *testing.T) {
		c := admission.DefaultConfig()
		c.GatewayRequests = func() uint64 { return 0 }
		f := &front{byUUID: map[string]*ironic.Node{}}
		controller, err := admission.New(c, t0)
		if err != nil {
			t.Fatal(err)
		}
		f.site = &site{T: t, Controller: controller, now: t0}
		for _, i := range many {
			f.of(i)
		}
		f.pastTheGateway(many...)
		f.passes(time.Hour)
		f.wantBypass("adopted", 0, 0, 0)
	})
}

// TestGW20_ANewTermBeginsAnew: requests went to another replica until then.
func TestGW20_ANewTermBeginsAnew(t *testing.T) {
	f, _ := gated(t)
	f.pastTheGateway(1, 2, 3)
	f.passes(6 * time.Minute)
	f.wantBypass("before", 3, 1, 0)
	if err := f.Start(f.now, nil, false, sizing.State{}); err != nil {
		t.Fatal(err)
	}
	f.after(5 * time.Second)
	if s := f.Status(f.now); s.Bypass != (*api.Bypass)(nil) {
		t.Errorf("%+v", s.Bypass)
	}
}

// GW-20 counts hosts, not their steps: one that is inspected, cleaned and deployed by hand is one.
func TestGW20_AHostCountsOnce(t *testing.T) {
	f, _ := gated(t)
	for _, state := range []ironic.State{ironic.Inspecting, ironic.Cleaning, ironic.Deploying} {
		f.of(1).AgentURL = true
		f.stamp(1, state, "")
		f.passes(10 * time.Minute)
		f.stamp(1, ironic.Available, "")
		f.passes(10 * time.Minute)
	}
	f.wantBypass("one host at three works", 0, 0, 0)
}

// Who reads the status between the poll and what follows has to see that it changed.
func TestGW20_TheEndIsANewRevision(t *testing.T) {
	var f *front
	requests, between, said := uint64(0), uint64(0), ""
	f = newFront(t, 20, func(c *admission.Config) {
		c.GatewayRequests = func() uint64 {
			if f != nil {
				between, said = f.Revision(), f.Status(f.now).Headline
			}
			return requests
		}
	})
	f.pastTheGateway(1, 2, 3)
	f.passes(6 * time.Minute)
	requests++
	f.after(5 * time.Second)
	if now := f.Status(f.now).Headline; now == said || f.Revision() == between {
		t.Errorf("revision %d: %q; then %d: %q", between, said, f.Revision(), now)
	}
}
