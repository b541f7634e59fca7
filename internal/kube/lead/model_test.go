package lead_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

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
				l.watch(time.Duration(l.random.IntN(5000)) * time.Millisecond)
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

// leading is who says yes now, nil = nobody. A replica that is paused says nothing.
func (l *land) leading() (found *replica) {
	for _, r := range l.all {
		switch {
		case r.wire.isFrozen() != nil || !r.Leading():
		case found != nil:
			l.Fatalf("%s and %s lead at %s", found.name, r.name, time.Now())
		default:
			found = r
		}
	}
	return found
}

func (l *land) watch(d time.Duration) {
	const step = 100 * time.Millisecond
	for ; d >= 0; d -= step {
		l.leading()
		<-time.After(step)
	}
}

// next waits for another leader than old.
func (l *land) next(old *replica, most time.Duration) *replica {
	for begun := time.Now(); ; <-time.After(20 * time.Millisecond) {
		if now := l.leading(); now != nil && now != old {
			return now
		}
		if time.Since(begun) > most {
			l.Fatalf("nobody else leads after %s, %q holds it", most, l.server.holder())
		}
	}
}

// strike lets one of these befall a replica, or pauses it, until it is over.
func (l *land) strike(r *replica, all ...weather) (over func()) {
	n := l.random.IntN(len(all) + 1)
	if n == len(all) {
		return r.wire.freeze()
	}
	r.wire.set(all[n])
	return func() { r.wire.set(fine) }
}

func (l *land) handOver(was *replica) (now *replica) {
	orderly, sudden, over := 3*time.Second, 20*time.Second, func() {}
	if standby := l.all[l.random.IntN(len(l.all))]; standby != was {
		defer l.strike(standby, swallow, refuse, deaf, slow, late)()
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
	for _, row := range []struct {
		at   time.Duration
		want bool
	}{{-1, false}, {0, true}, {deadline - 1, true}, {deadline, false}} {
		if got := f.Passes(now.Add(row.at)); got != row.want {
			t.Errorf("%s: %v", row.at, got)
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
