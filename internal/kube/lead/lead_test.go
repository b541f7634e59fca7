package lead

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// TestNeverTwo changes the leader of three replicas 200 times, by all that can befall it, and in most cases
// something befalls a standby too. Two never say yes at one time. Another one leads within 3 s of an orderly end and
// within 20 s of anything else, and whoever led before ends.
func TestNeverTwo(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			l := &land{T: t, random: rand.New(rand.NewPCG(seed, 1))}
			for _, name := range []string{"a", "b", "c"} {
				l.all = append(l.all, l.server.join(t, name))
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
	r.set(all[n])
	return func() { r.set(fine) }
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
			l.all[i] = l.server.join(l.T, r.name+"+")
		}
	}
	return now
}

// The monotonic clock stands still while a machine sleeps; the wall clock may be set.
func TestTheFenceBelievesTheClockThatSaysMore(t *testing.T) {
	now := time.Now()
	f := NewFence(deadline)
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
	edit := func(change func(*resourcelock.LeaderElectionRecord)) func(*replica) {
		return func(a *replica) { a.api.edit(change) }
	}
	for name, row := range map[string]struct {
		befalls func(a *replica)
		lost    bool
	}{
		"late answers":                {func(a *replica) { a.set(late) }, false},
		"a label on the Lease":        {edit(func(*resourcelock.LeaderElectionRecord) {}), false},
		"another time of the renewal": {edit(func(l *resourcelock.LeaderElectionRecord) { l.RenewTime = metav1.Time{} }), false},
		"no holder":                   {edit(func(l *resourcelock.LeaderElectionRecord) { l.HolderIdentity = "" }), true},
		"another holder":              {edit(func(l *resourcelock.LeaderElectionRecord) { l.HolderIdentity = "x" }), true},
		"another transition":          {edit(func(l *resourcelock.LeaderElectionRecord) { l.LeaderTransitions = 7 }), true},
		"a Lease that is deleted":     {edit(nil), true},
		"a renewal counts from when it was sent": {func(a *replica) {
			a.set(late)
			<-time.After(retry)
			a.set(swallow)
			if <-time.After(deadline); a.Leading() {
				a.t.Error("leading after the renew deadline")
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := new(api).join(t, "a")
				a.leads(time.Second)
				<-time.After(time.Minute)
				row.befalls(a)
				lost := within(deadline+retry+time.Second, a.gone)
				if lost != row.lost || a.Leading() == lost || lost != errors.Is(a.result, ErrLost) {
					t.Errorf("%v, leading %t: %s", a.result, a.Leading(), &a.log)
				}
			})
		})
	}
}

// Anything may stand in a Lease.
func TestThePodOfAnIdentity(t *testing.T) {
	for identity, want := range map[string]string{Identity("a"): "a", "b.c_0": "b.c", "b": "", "_0": "", "../b_0": ""} {
		if got := podOf(identity); got != want {
			t.Errorf("%s: %q", identity, got)
		}
	}
}
