package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// front is a site on which things fail.
type front struct {
	*site
	stamps  int
	byUUID  map[string]*ironic.Node
	notices []admission.FailureNotice // of breakers and pools
	told    []admission.FailureNotice // of single hosts
}

func newFront(t *testing.T, limit int, edit ...func(*admission.Config)) *front {
	t.Helper()
	f := &front{byUUID: map[string]*ironic.Node{}}
	edit = append(edit, func(c *admission.Config) {
		c.NotifyFailures = func(all []admission.FailureNotice) {
			for _, n := range all {
				if n.Kind == admission.HostFailed || n.Kind == admission.HoldEnded {
					f.told = append(f.told, n)
				} else {
					f.notices = append(f.notices, n)
				}
			}
		}
	})
	f.site = newSite(t, limit, edit...)
	return f
}

// whole is the breaker of the whole Ironic, opened by so many failures in a row.
func whole(threshold int, edit ...func(*breaker.Config)) func(*admission.Config) {
	return func(c *admission.Config) {
		c.Breakers = admission.DefaultBreakers()
		c.Breakers.Ironic.FailureThreshold, c.Breakers.Ironic.RatioPercent, c.Breakers.Ironic.RatioMinimum = threshold, 0, 0
		for _, f := range edit {
			f(&c.Breakers.Ironic)
		}
	}
}

func holding(d time.Duration, edit ...func(*admission.Config)) func(*admission.Config) {
	return func(c *admission.Config) {
		c.Breakers, c.Holdoff.Timeout, c.HoldsKnown = nil, d, true
		for _, f := range edit {
			f(c)
		}
	}
}

// of is node i, made as available where there is none.
func (f *front) of(i int) *ironic.Node {
	n := f.byUUID[uuid(i)]
	if n == nil {
		n = f.node(i, ironic.Available, "")
		n.Name = fmt.Sprintf("metal3~host-%d", i)
		f.byUUID[n.UUID] = n
	}
	return n
}

// becomes moves node i and lets a poll see it.
func (f *front) becomes(i int, s ironic.State, lastError string) {
	f.stamp(i, s, lastError)
	f.after(5 * time.Second)
}

// stamp moves node i unseen.
func (f *front) stamp(i int, s ironic.State, lastError string) {
	f.stamps++
	n := f.of(i)
	n.State, n.LastError, n.ProvisionUpdatedAt = s, lastError, fmt.Sprintf("stamp-%d", f.stamps)
}

// starts lets host i have a slot and begin to deploy.
func (f *front) starts(hosts ...int) {
	f.Helper()
	for _, i := range hosts {
		f.of(i)
		f.wantAsk(api.ReasonGranted, by(i, api.OpProvision))
		f.stamp(i, ironic.Deploying, "")
	}
	f.after(5 * time.Second)
}

// meets lets Ironic show host i.
func (f *front) meets(i int) {
	n := *f.of(i)
	f.ObserveNode(f.now, ironic.NodeObservation{Key: n.UUID, Mark: f.Begin(f.now), Found: true, Node: n})
}

// shorted wants the pool of host i paused.
func (f *front) shorted(i int) api.Answer {
	f.Helper()
	f.meets(i)
	return f.want(by(i, api.OpProvision), api.ReasonShortCircuit)
}

// fails lets deployments end badly, seen by one poll, and their slots be given back.
func (f *front) fails(cause string, hosts ...int) {
	for _, i := range hosts {
		f.stamp(i, ironic.DeployFailed, cause)
	}
	f.after(5 * time.Second)
}

func (f *front) succeeds(hosts ...int) {
	for _, i := range hosts {
		f.stamp(i, ironic.Active, "")
	}
	f.after(5 * time.Second)
}

// linger lets slots that only linger end.
func (f *front) linger() {
	for range 12 {
		f.after(5 * time.Second)
	}
}

// passes lets d go by, seen by polls.
func (f *front) passes(d time.Duration) {
	for end := f.now.Add(d); f.now.Before(end); {
		f.after(min(5*time.Second, end.Sub(f.now)))
	}
}

func (f *front) ask(a api.Ask) api.Answer { return f.IsReady(f.now, a) }

func (f *front) want(a api.Ask, want api.Reason) api.Answer {
	f.Helper()
	got := f.ask(a)
	wantReason(f.T, got, want)
	return got
}

func (f *front) breaker(scope string) api.Breaker {
	for _, b := range f.Breakers(f.now).Breakers {
		if b.Scope == scope {
			return b
		}
	}
	return api.Breaker{}
}

func (f *front) wantState(scope, want string) {
	f.Helper()
	if got := f.breaker(scope); got.State != want {
		f.Fatalf("at %v %s is %q, want %s", f.now.Sub(t0), scope, got.State, want)
	}
}

// opened brings the breaker of the whole Ironic to OPEN by three failures.
func opened(t *testing.T, limit int, edit ...func(*admission.Config)) *front {
	t.Helper()
	f := newFront(t, limit, append([]func(*admission.Config){whole(3)}, edit...)...)
	f.starts(1, 2, 3)
	f.fails("Timeout reached while waiting for callback for node "+uuid(1), 1, 2, 3)
	f.wantState("ironic", "OPEN")
	f.linger()
	return f
}

// held is host i, whose deployment has just failed and was cleaned up by BMO.
func (f *front) failedAndCleaned(i int) {
	f.Helper()
	f.starts(i)
	f.fails("it broke", i)
	f.wantAsk(api.ReasonHeldSlot, api.Ask{Namespace: "metal3", Name: fmt.Sprintf("host-%d", i), NodeUUID: uuid(i), Op: api.OpDeprovision, BMHState: api.BMHDeprovisioning})
	f.becomes(i, ironic.Deleting, "")
	f.becomes(i, ironic.Cleaning, "")
	f.becomes(i, ironic.Available, "")
}

func (f *front) hold(i int) (api.Hold, bool) {
	for _, h := range f.Holds(f.now).Hosts {
		if h.NodeUUID == uuid(i) {
			return h, true
		}
	}
	return api.Hold{}, false
}
