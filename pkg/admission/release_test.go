package admission_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestBO10_Release(t *testing.T) {
	f := newFront(t, 1, holding(hour))
	f.failedAndCleaned(1)
	f.linger()
	first := f.want(by(1, api.OpProvision), api.ReasonHold).Episode
	f.starts(2)
	for _, wrong := range []string{"0000", "x"} {
		var old *api.EpisodeError
		if _, err := f.ReleaseHold(f.now, "metal3", "host-1", wrong); !errors.As(err, &old) || old.Present != first {
			t.Errorf("episode %q: %v", wrong, err)
		}
	}
	f.want(by(1, api.OpProvision), api.ReasonHold)
	a, err := f.ReleaseHold(f.now, "metal3", "host-1", first)
	if err != nil || !a.Released || a.Hold.Held || !a.Hold.Released {
		t.Fatalf("%+v, %v", a, err)
	}
	if a, err = f.ReleaseHold(f.now, "", uuid(1), ""); err != nil || a.Released {
		t.Errorf("twice: %+v, %v", a, err)
	}
	f.want(by(1, api.OpProvision), api.ReasonFull) // no slot out of turn
	f.succeeds(2)
	f.starts(1)
	f.fails("broken again", 1)
	if _, err := f.ReleaseHold(f.now, "metal3", "host-1", first); err == nil {
		t.Error("a release of the old episode reaches the new one")
	}
	if _, err := f.ReleaseHold(f.now, "metal3", "nobody", ""); !errors.Is(err, api.ErrNoHold) {
		t.Errorf("unknown host: %v", err)
	}
	if s := f.Status(f.now); s.Storm.HoldsReleased["hand"] != 1 || s.Holds.Held != 1 {
		t.Errorf("counts %+v %+v", s.Storm, s.Holds)
	}
}

func TestBO11_AChangedSpecReleases(t *testing.T) {
	f := newFront(t, 4, holding(hour))
	spec := func(hash string) api.Ask {
		a := in(by(1, api.OpProvision), api.BMHProvisioning)
		a.SpecHash = hash
		return a
	}
	f.of(1)
	f.wantAsk(api.ReasonGranted, spec("a"))
	f.becomes(1, ironic.Deploying, "")
	f.fails("broken", 1)
	f.becomes(1, ironic.Deleting, "")
	f.becomes(1, ironic.Available, "")
	f.linger()
	f.want(spec("a"), api.ReasonHold)
	f.want(spec(""), api.ReasonHold)
	dry := spec("b")
	dry.DryRun = true
	f.want(dry, api.ReasonGranted)
	f.want(spec("a"), api.ReasonHold) // a dry run releases nobody
	f.want(spec("b"), api.ReasonGranted)
	if s := f.Status(f.now).Storm; s.HoldsReleased["spec"] != 1 {
		t.Errorf("counts %+v", s)
	}
}

func TestBO14_BO15_MaxFailed(t *testing.T) {
	quota, err := holdoff.ParseQuota("40%")
	if err != nil {
		t.Fatal(err)
	}
	f := newFront(t, 5, holding(hour, func(c *admission.Config) { c.MaxFailed = quota }))
	f.starts(1, 2, 3, 4, 5)
	f.fails("broken", 1, 2)
	f.linger()
	f.want(by(1, api.OpProvision), api.ReasonHold)
	gone := in(by(2, api.OpDeprovision), api.BMHDeprovisioning)
	f.wantAsk(api.ReasonGranted, gone) // 2 of 5 are allowed
	f.becomes(2, ironic.Deleting, "")
	f.becomes(2, ironic.Available, "")
	f.fails("broken", 3)
	f.linger()
	a := f.shorted(6)
	if want := "the default conductor group is paused: 3 of its 5 hosts have failed or are held, IRONIC_THROTTLE_MAX_FAILED allows 2"; a.Message != want {
		t.Errorf("message %q", a.Message)
	}
	f.wantAsk(api.ReasonHeldSlot, by(4, api.OpProvision)) // in flight
	p := f.Holds(f.now).Pools
	if len(p) != 1 || p[0] != (api.PoolFailures{Failed: 3, Hosts: 5, Allowed: 2, Paused: true}) {
		t.Errorf("pools %+v", p)
	}
	if len(f.notices) != 1 || f.notices[0].Kind != admission.PoolChanged || !f.notices[0].Pool.Paused {
		t.Errorf("notices %+v", f.notices)
	}
	// Failed goes down to what is allowed: it reopens at once.
	if _, err := f.ReleaseHold(f.now, "metal3", "host-2", ""); err != nil {
		t.Fatal(err)
	}
	f.want(by(6, api.OpProvision), api.ReasonGranted)
	if s := f.Status(f.now); s.Storm.Pools[0].Paused {
		t.Errorf("pools %+v", s.Storm.Pools)
	}
}

func TestSetHoldoff_ReachesHostsThatHaveFailed(t *testing.T) {
	f := newFront(t, 4, holding(0))
	f.failedAndCleaned(1)
	f.linger()
	everybody, _ := holdoff.ParseQuota("100%")
	cfg := holdoff.DefaultConfig()
	cfg.Timeout = hour
	if err := f.SetHoldoff(f.now, cfg, everybody); err != nil {
		t.Fatal(err)
	}
	f.want(by(1, api.OpProvision), api.ReasonHold)
	cfg.Timeout = -1
	if err := f.SetHoldoff(f.now, cfg, everybody); err == nil {
		t.Error("a negative time is taken")
	}
	f.want(by(1, api.OpProvision), api.ReasonHold)
	cfg.Timeout, cfg.Hosts = hour, map[string]time.Duration{"metal3/host-1": 0}
	if err := f.SetHoldoff(f.now, cfg, everybody); err != nil {
		t.Fatal(err)
	}
	f.want(by(1, api.OpProvision), api.ReasonGranted)
}

func TestBO17_AHostMadeAnewInheritsNothing(t *testing.T) {
	f := newFront(t, 4, holding(hour))
	f.failedAndCleaned(1)
	f.linger()
	f.want(by(1, api.OpProvision), api.ReasonHold)
	anew := by(2, api.OpProvision)
	anew.Name = "host-1"
	f.of(2).Name = "metal3~host-1"
	f.want(anew, api.ReasonGranted)
	// The same node for another BareMetalHost.
	g := newFront(t, 4, holding(hour))
	a := by(1, api.OpProvision)
	a.UID = "first"
	g.of(1)
	g.wantAsk(api.ReasonGranted, a)
	g.becomes(1, ironic.Deploying, "")
	g.fails("broken", 1)
	g.of(1).State = ironic.Available
	g.linger()
	g.want(a, api.ReasonHold)
	a.UID = "second"
	g.want(a, api.ReasonGranted)
}
