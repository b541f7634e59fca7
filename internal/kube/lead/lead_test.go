package lead_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/lead"
)

// TestNeverTwo changes the leader of three replicas 200 times, by all that can befall it, and in most cases
// something befalls a standby too. Two never say yes at one time. Another one leads within 3 s of an orderly end and
// within 20 s of anything else, and whoever led before ends.
func TestNeverTwo(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			l := &land{T: t, random: rand.New(rand.NewPCG(seed, 1))}
			for _, name := range []string{"a", "b", "c"} {
				l.all = append(l.all, l.server.join(t, name, nil))
			}
			now := l.next(nil, time.Minute)
			for range 10 {
				<-time.After(time.Duration(l.random.IntN(5000)) * time.Millisecond)
				now = l.handOver(now)
			}
		})
	}
}

// land is a number of replicas, watched together.
type land struct {
	*testing.T
	random *rand.Rand
	server api
	all    []*replica
}

// next waits for another leader than old. A replica that is paused says nothing.
func (l *land) next(old *replica, most time.Duration) *replica {
	for begun := time.Now(); time.Since(begun) <= most; <-time.After(20 * time.Millisecond) {
		var found *replica
		for _, r := range l.all {
			if r.isFrozen() == nil && r.Leading() {
				if found != nil {
					l.Fatalf("%s and %s lead at %s", found.name, r.name, time.Now())
				}
				found = r
			}
		}
		if found != nil && found != old {
			return found
		}
	}
	l.Fatalf("nobody else leads after %s, %q holds it", most, l.server.holder())
	return nil
}

// strike lets one of these befall a replica, or pauses it, until it is over.
func (l *land) strike(r *replica, all ...weather) (over func()) {
	n := l.random.IntN(len(all) + 1)
	if n == len(all) {
		return r.freeze()
	}
	r.set(all[n], "")
	return func() { r.set(fine, "") }
}

func (l *land) handOver(was *replica) (now *replica) {
	orderly, sudden, over := 3*time.Second, 20*time.Second, func() {}
	if standby := l.all[l.random.IntN(len(l.all))]; standby != was {
		defer l.strike(standby, swallow, refuse, deaf, late)()
		orderly, sudden = time.Minute, time.Minute // it may have taken the Lease, and not know
	}
	most := sudden
	if l.random.IntN(5) == 0 {
		was.stop()
		most = orderly
	} else {
		over = l.strike(was, swallow, refuse, deaf)
	}
	now = l.next(was, most)
	over()
	if !within(deadline+2*retry, was.gone) || was.Leading() {
		l.Fatalf("%s goes on", was.name)
	}
	for i, r := range l.all {
		if r == was {
			l.all[i] = l.server.join(l.T, r.name+"+", nil)
		}
	}
	return now
}

// The monotonic clock stands still while a machine sleeps; the wall clock may be set.
func TestTheFenceBelievesTheClockThatSaysMore(t *testing.T) {
	now := time.Now()
	f := lead.NewFence(deadline)
	if f.Passes(now) {
		t.Error("open before a renewal")
	}
	f.Renewed(now)
	for at, want := range map[time.Duration]bool{-1: false, 0: true, deadline - 1: true, deadline: false} {
		if got := f.Passes(now.Add(at)); got != want {
			t.Errorf("%s: %v", at, got)
		}
	}
	slept := now
	*(*uint64)(unsafe.Pointer(&slept)) += uint64(time.Hour/time.Second) << 30 // its wall clock alone
	if slept.Sub(now) != 0 || slept.Round(0).Sub(now.Round(0)) != time.Hour {
		t.Skip("package time keeps its times in another way now")
	}
	if f.Passes(slept) {
		t.Error("the wall clock is not believed")
	}
	f.Renewed(slept)
	if f.Passes(now.Add(deadline)) || !f.Passes(slept) {
		t.Error("the monotonic clock is not believed")
	}
	f.End()
	if f.Renewed(now); f.Passes(now) {
		t.Error("open after its end")
	}
}

// What befalls a leader ends its term within the renew deadline and a retry, or does not.
func TestTerms(t *testing.T) {
	edit := func(change func(*coordinationv1.Lease)) func(*replica) {
		return func(a *replica) { a.api.edit(change) }
	}
	for name, row := range map[string]struct {
		befalls func(a *replica)
		lost    bool
	}{
		"refused":                     {func(a *replica) { a.set(refuse, "") }, true},
		"no answers":                  {func(a *replica) { a.set(deaf, "") }, true},
		"late answers":                {func(a *replica) { a.set(late, "") }, false},
		"a label on the Lease":        {edit(func(l *coordinationv1.Lease) { l.Labels = map[string]string{"a": "b"} }), false},
		"another time of the renewal": {edit(func(l *coordinationv1.Lease) { l.Spec.RenewTime = nil }), false},
		"no holder":                   {edit(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil }), true},
		"another holder":              {edit(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("x") }), true},
		"another transition":          {edit(func(l *coordinationv1.Lease) { l.Spec.LeaseTransitions = new(int32(7)) }), true},
		"a Lease that is deleted":     {edit(nil), true},
		"a renewal counts from when it was sent": {func(a *replica) {
			a.set(late, "")
			<-time.After(retry)
			a.set(swallow, "")
			if <-time.After(deadline); a.Leading() {
				a.t.Error("leading after the renew deadline")
			}
		}, true},
		"a pause in which another led": {func(a *replica) {
			b := a.api.join(a.t, "b", nil)
			<-time.After(time.Minute)
			thaw := a.freeze()
			b.leads(duration + 2*longRetry)
			b.stop() // and releases the Lease: it is there for the taking
			<-b.gone
			if thaw(); a.Leading() {
				a.t.Error("leading after another did")
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := new(api).join(t, "a", nil)
				a.leads(time.Second)
				<-time.After(time.Minute)
				row.befalls(a)
				if row.lost {
					a.loses(deadline + retry + time.Second)
				} else if <-time.After(5 * time.Minute); !a.Leading() {
					t.Errorf("lost: %s", &a.log)
				}
			})
		})
	}
}

// A leader that ends keeps its Lease until it has saved, and led's error is Run's.
func TestAnOrderlyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		const work = time.Minute // longer than the Lease
		fault := errors.New("broken")
		a := server.join(t, "a", func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(work)
			if server.holder() != "a" {
				t.Error("the Lease is released before led has returned")
			}
			return fault
		})
		a.leads(time.Second)
		b := server.join(t, "b", nil)
		a.stop()
		if within(work-time.Second, b.led) || !a.Leading() {
			t.Error("led goes on, and its Lease does not")
		}
		b.leads(time.Second + longRetry)
		if <-a.gone; a.Leading() || !errors.Is(a.result, fault) || errors.Is(a.result, lead.ErrLost) {
			t.Errorf("leading %t, %v", a.Leading(), a.result)
		}
	})
}

// A standby could take over as long as it reads the Lease and nothing fails. A fault is said once, and that it is over.
func TestAStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.join(t, "a_1", nil)
		a.leads(time.Second)
		b := server.join(t, "b_1", nil)
		for i, step := range []struct {
			is    weather
			could bool
		}{{fine, true}, {swallow, false}, {fine, true}, {refuse, false}, {fine, true}} {
			b.set(step.is, "")
			<-time.After(duration + longRetry)
			if b.CouldLead() != step.could || b.said("level=WARN") != (i+1)/2 || b.said("asks for again") != i/2 {
				t.Errorf("step %d: could lead %t; %s", i, b.CouldLead(), &b.log)
			}
		}
		b.set(refuse, http.MethodPut) // it may only read
		a.set(swallow, "")
		<-time.After(time.Minute)
		if s := b.Status(); b.Leading() || b.CouldLead() || a.CouldLead() || s.Fault == nil || s.Former != "a_1" || b.said("level=WARN") != 3 {
			t.Errorf("%+v; %s", s, &b.log)
		}
		c := server.join(t, "c_1", nil)
		c.leads(duration + longRetry)
		if <-time.After(longRetry); !b.CouldLead() || c.CouldLead() || c.Status().Former != "a_1" {
			t.Errorf("%+v, %+v", b.Status(), c.Status())
		}
		b.set(fine, "")
		server.edit(nil)
		b.leads(longRetry + time.Second)
	})
}

func TestWordsOfAStandby(t *testing.T) {
	fault := http.ErrServerClosed
	seen := time.Date(2026, 11, 22, 3, 4, 5, 0, time.UTC)
	for want, s := range map[string]lead.Status{
		"nobody leads yet": {Identity: "a"},
		"nobody leads, as far as is known: http: Server closed": {Identity: "a", Fault: fault},
		"b leads": {Identity: "a", Holder: "b", Seen: seen},
		"b led when the Lease was seen last, at 03:04:05Z; since then: http: Server closed": {Identity: "a", Holder: "b", Seen: seen, Fault: fault},
		"it leads no more: its Lease could not be renewed in time":                          {Identity: "a", Holder: "a", Seen: seen},
	} {
		if got := s.Standby(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
