package admission_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// adaptive are limits that may change, below 60 slots in all and 30 of rack1.
func adaptive(c *admission.Config) {
	c.Adaptive = true
	c.Slots.Groups = map[string]int{"rack1": 30, "rack2": 8}
}

// boot lets hosts 1 to 20 of rack1 boot in three minutes while two others wait. Each has failed so often.
// Then, while they boot, something happens.
func (f *front) boot(errors int, meanwhile ...func()) {
	f.Helper()
	for i := 1; i <= 22; i++ {
		f.of(i).ConductorGroup = "rack1"
		f.meets(i)
	}
	for i := 1; i <= 22; i++ {
		a := by(i, api.OpProvision)
		a.ErrorCount = errors
		if f.ask(a).Reason == api.ReasonGranted {
			f.stamp(i, ironic.Deploying, "")
		}
	}
	f.after(5 * time.Second)
	for i := 1; i <= 22; i++ {
		if n := f.of(i); n.State == ironic.Deploying {
			f.stamp(i, ironic.DeployWait, "")
		}
	}
	for _, happens := range meanwhile {
		happens()
	}
	for range 36 {
		f.after(5 * time.Second)
		f.ask(by(21, api.OpProvision))
		f.ask(by(22, api.OpProvision))
	}
	for i := 1; i <= 22; i++ {
		f.of(i).AgentURL = f.of(i).State == ironic.DeployWait
	}
	f.after(5 * time.Second)
}

func limitsOf(s api.Status) map[string]int {
	out := map[string]int{}
	for _, p := range s.Sizing.Pools {
		out[p.Pool] = p.Limit
	}
	return out
}

func TestSZ5_SZ11_EachPoolFindsItsOwnLimit(t *testing.T) {
	f := newFront(t, 60, adaptive)
	if got := limitsOf(f.Status(f.now)); got[""] != 20 || got["rack1"] != 20 || got["rack2"] != 8 {
		t.Fatalf("%v at the begin", got)
	}
	f.boot(0)
	if got := limitsOf(f.Status(f.now)); got[""] != 40 || got["rack1"] != 30 || got["rack2"] != 8 {
		t.Errorf("%v after 20 boots", got)
	}
	s := f.Status(f.now)
	if s.Slots.Total.Limit != 40 || s.Slots.Pools["rack1"].Limit != 30 || s.Sizing.Mode != "adaptive" || s.Sizing.Pools[0].Ceiling != 60 {
		t.Errorf("%+v, %+v", s.Slots.Total, s.Sizing)
	}
	if b := s.Sizing.Boots; len(b) != 1 || b[0].State != "wait call-back" || b[0].Group != "rack1" || b[0].Up.Count != 20 {
		t.Errorf("boots: %+v", b)
	}
	f.want(by(22, api.OpProvision), api.ReasonGranted)
}

// Hosts that fail anyway say nothing about the site.
func TestSZ3_BootsOfFailingHostsDoNotCount(t *testing.T) {
	f := newFront(t, 60, adaptive)
	f.boot(5)
	if got := limitsOf(f.Status(f.now)); got[""] != 20 {
		t.Errorf("%v", got)
	}
	if s := f.Status(f.now); len(s.Sizing.Boots) != 1 || s.Sizing.Boots[0].Up.Count == 0 {
		t.Errorf("they are timed all the same: %+v", s.Sizing.Boots)
	}
}

// A fixed limit stays as it is set, whatever boots say.
func TestSZ4_AFixedLimitIsOnlyTalkedAbout(t *testing.T) {
	f := newFront(t, 20)
	f.boot(0)
	s := f.Status(f.now)
	if s.Slots.Total.Limit != 20 || s.Sizing.Mode != "fixed" || s.Sizing.Pools[0].Verdict != api.SizingUnknown || s.Sizing.Pools[0].Evidence == "" {
		t.Errorf("%+v", s.Sizing)
	}
}

func TestSZ10_AnOpenBreakerHoldsTheLimit(t *testing.T) {
	f := newFront(t, 60, adaptive, whole(2))
	f.boot(0, func() {
		if _, err := f.TripBreaker(f.now, "ironic", 0); err != nil {
			t.Fatal(err)
		}
	})
	if got := limitsOf(f.Status(f.now)); got[""] != 20 {
		t.Errorf("%v", got)
	}
}

// Where boots are lost the limit is cut. That Ironic gives them up later is no storm of failures: it once stopped all
// hosts for a quarter of an hour. A fixed limit has answered nothing, and another scope is another question.
func TestSZ12_BootsThatTheLimitWasCutForDoNotOpenTheBreaker(t *testing.T) {
	images := func(c *admission.Config) {
		c.Breakers.Scopes = []string{admission.ScopeIronic, admission.ScopeImage}
		c.Breakers.Others.FailureThreshold = 8
	}
	for _, c := range []struct {
		name          string
		limit         int
		edit          []func(*admission.Config)
		reset         bool // the image's breaker, before they fail: what began before says nothing any more (CB-12)
		ironic, image string
	}{
		{"adaptive", 60, []func(*admission.Config){adaptive, whole(8), images}, false, "CLOSED", "OPEN"},
		{"adaptive, reset", 60, []func(*admission.Config){adaptive, whole(8), images}, true, "CLOSED", "CLOSED"},
		{"fixed", 20, []func(*admission.Config){whole(8), images}, false, "OPEN", "OPEN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFront(t, c.limit, c.edit...)
			for i := 1; i <= 22; i++ {
				f.of(i).Image = "bad"
			}
			var lost []int
			f.boot(0, func() { // 12 of the 20 come up after three minutes, and stay at work; the others never do
				for range 36 {
					f.after(5 * time.Second)
					f.ask(by(21, api.OpProvision))
					f.ask(by(22, api.OpProvision))
				}
				for i := 1; i <= 22; i++ {
					switch n := f.of(i); {
					case n.State != ironic.DeployWait:
					case len(lost) < 8:
						lost = append(lost, i)
					default:
						n.AgentURL = true
					}
				}
				for range 200 {
					f.after(5 * time.Second)
					f.ask(by(21, api.OpProvision))
					f.ask(by(22, api.OpProvision))
				}
				if c.reset {
					if _, err := f.TripBreaker(f.now, "image:bad", 0); err != nil {
						t.Fatal(err)
					}
					if _, err := f.ResetBreaker(f.now, "image:bad"); err != nil {
						t.Fatal(err)
					}
				}
				for _, i := range lost {
					f.stamp(i, ironic.DeployFailed, "Timeout reached while waiting for callback for node")
				}
				f.after(5 * time.Second)
			})
			if got := f.stateOf("ironic"); got != c.ironic {
				t.Errorf("the whole Ironic is %s, want %s", got, c.ironic)
			}
			if got := f.stateOf("image:bad"); got != c.image {
				t.Errorf("image:bad is %s, want %s", got, c.image)
			}
		})
	}
}

// stateOf is the state of the breaker of a scope.
func (f *front) stateOf(scope string) string {
	for _, b := range f.Breakers(f.now).Breakers {
		if b.Scope == scope {
			return b.State
		}
	}
	return ""
}
