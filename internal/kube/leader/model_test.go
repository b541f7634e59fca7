package leader

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// mishap is something that befalls a replica.
type mishap struct {
	replica int
	after   time.Duration // after the one before
	is      weather       // freezes when it is stuck
	lasts   time.Duration
}

// TestLH27_NeverTwo lets random mishaps befall three replicas: no two of them may ever
// say yes at one time, and when all is fine again, one of those that are left leads.
func TestLH27_NeverTwo(t *testing.T) {
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
		synctest.Test(t, func(t *testing.T) { fault = live(t, plan) })
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}

func live(t *testing.T, plan []mishap) (fault string) {
	t.Helper()
	var server api
	var all []*replica
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, server.join(t, name, nil))
	}
	watch := func(d time.Duration) {
		const step = 200 * time.Millisecond
		for ; d >= 0 && fault == ""; d -= step {
			var leading []string
			for _, r := range all {
				if !r.wire.isFrozen() && r.Leading() {
					leading = append(leading, r.name)
				}
			}
			if len(leading) > 1 {
				fault = fmt.Sprintf("%v lead at %s", leading, time.Now())
			}
			<-time.After(step)
		}
	}
	for _, m := range plan {
		watch(m.after)
		r := all[m.replica]
		if m.is == stuck {
			if !r.wire.isFrozen() {
				time.AfterFunc(m.lasts, r.wire.freeze())
			}
			continue
		}
		r.wire.set(m.is)
		time.AfterFunc(m.lasts, func() { r.wire.set(fine) })
	}
	watch(30 * time.Second) // until the last mishap is over
	for _, r := range all {
		select {
		case <-r.gone: // its process begins anew
			all = append(all, server.join(t, r.name+"+", nil))
		default:
		}
	}
	watch(duration + 2*longRetry + time.Second)
	if fault != "" {
		return fault
	}
	for _, r := range all {
		if r.Leading() {
			return ""
		}
	}
	return fmt.Sprintf("nobody leads, %q holds it", server.holder())
}

func (w *wire) isFrozen() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frozen != nil
}
