package lead_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/lead"
)

// mishap is something that befalls a replica.
type mishap struct {
	replica int
	after   time.Duration // after the one before
	is      weather       // freezes when it is stuck
	lasts   time.Duration
}

// TestNeverTwo lets random mishaps befall three replicas: no two of them may ever say yes at one time, and when all is fine
// again, one of those that are left leads.
func TestNeverTwo(t *testing.T) {
	span := rapid.Map(rapid.IntRange(1, 300), func(n int) time.Duration { return time.Duration(n) * 100 * time.Millisecond })
	mishaps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mishap {
		return mishap{
			replica: rapid.IntRange(0, 2).Draw(t, "replica"), after: span.Draw(t, "after"),
			is: rapid.SampledFrom([]weather{swallow, deaf, slow, broken, stuck}).Draw(t, "weather"), lasts: span.Draw(t, "lasts"),
		}
	}), 1, 5)
	rapid.Check(t, func(rt *rapid.T) {
		plan := mishaps.Draw(rt, "mishaps")
		fault := ""
		synctest.Test(t, func(t *testing.T) {
			l := &land{T: t}
			for _, name := range []string{"a", "b", "c"} {
				l.add(name)
			}
			l.live(plan)
			fault = l.fault
		})
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}

// land is a number of replicas, watched together.
type land struct {
	*testing.T
	server api
	all    []*replica
	fault  string
}

func (l *land) add(name string) { l.all = append(l.all, l.server.join(l.T, name, nil)) }

// leading is who says yes now. A replica that is paused says nothing.
func (l *land) leading() (found []*replica) {
	for _, r := range l.all {
		if r.wire.isFrozen() == nil && r.Leading() {
			found = append(found, r)
		}
	}
	if len(found) > 1 {
		l.fault = fmt.Sprintf("%s and %s lead at %s", found[0].name, found[1].name, time.Now())
	}
	return found
}

func (l *land) watch(d time.Duration) {
	const step = 200 * time.Millisecond
	for ; d >= 0 && l.fault == ""; d -= step {
		l.leading()
		<-time.After(step)
	}
}

func (l *land) live(plan []mishap) {
	for _, m := range plan {
		l.watch(m.after)
		r := l.all[m.replica]
		if m.is == stuck {
			if r.wire.isFrozen() == nil {
				time.AfterFunc(m.lasts, r.wire.freeze())
			}
			continue
		}
		r.wire.set(m.is)
		time.AfterFunc(m.lasts, func() { r.wire.set(fine) })
	}
	l.watch(30 * time.Second) // until the last mishap is over
	l.restart()
	l.watch(duration + 2*longRetry + time.Second)
	if l.fault == "" && len(l.leading()) == 0 {
		l.fault = fmt.Sprintf("nobody leads, %q holds it", l.server.holder())
	}
}

// restart starts again whoever has ended.
func (l *land) restart() {
	for i, r := range l.all {
		select {
		case <-r.gone:
			l.all[i] = l.server.join(l.T, r.name+"+", nil)
		default:
		}
	}
}

// TestTwoHundredHandOvers ends, kills, cuts off, refuses and pauses one leader after the other. Whoever led before never
// says yes again, and the next leader is there within 3 s of an orderly end, within 20 s of anything else.
func TestTwoHundredHandOvers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random, l := rand.New(rand.NewPCG(1, 2)), &land{T: t}
		for _, name := range []string{"a", "b", "c"} {
			l.add(name)
		}
		next := func(old *replica, atMost time.Duration) *replica {
			for begun := time.Now(); ; <-time.After(20 * time.Millisecond) {
				now := l.leading()
				if old != nil && old.wire.isFrozen() == nil && old.Leading() && time.Since(begun) > deadline || l.fault != "" {
					t.Fatalf("%s says yes: %s", old.name, l.fault)
				}
				if len(now) == 1 && now[0] != old {
					return now[0]
				}
				if time.Since(begun) > atMost {
					t.Fatalf("nobody leads after %s", atMost)
				}
			}
		}
		now := next(nil, duration)
		for n := range 200 {
			<-time.After(time.Duration(random.IntN(5000)) * time.Millisecond)
			was, atMost, thaw := now, 20*time.Second, func() {}
			switch random.IntN(5) {
			case 0:
				was.stop()
				atMost = 3 * time.Second
			case 1:
				was.wire.set(swallow)
			case 2:
				was.wire.set(refuse)
			case 3:
				was.wire.set(deaf)
			case 4:
				thaw = was.wire.freeze()
			}
			now = next(was, atMost)
			thaw()
			if was.Leading() {
				t.Fatalf("hand-over %d: %s says yes when it wakes", n, was.name)
			}
			if was.wire.set(fine); !within(deadline+2*retry, was.gone) || was.Leading() {
				t.Fatalf("hand-over %d: %s goes on", n, was.name)
			}
			l.restart()
		}
	})
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
