package holds

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// everywhere is a record in each ConfigMap.
func everywhere(since time.Time) []holdoff.Record {
	var all []holdoff.Record
	for n := range shards {
		all = append(all, record(hosts(n, 1)[0], since))
	}
	return all
}

func TestBO16_OneBadConfigMapHoldsUpNoOther(t *testing.T) {
	for name, code := range map[string]int{"refused": http.StatusUnprocessableEntity, "hangs": hang, "away": http.StatusServiceUnavailable} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				m := d.open()
				d.fail(func(method, name string) int {
					if method == http.MethodPut && name == "holds-1" {
						return code
					}
					return 0
				})
				err := m.Save(holdoff.Batch{Puts: everywhere(since)})
				if err == nil || !strings.Contains(err.Error(), "holds in ConfigMaps: holds-1 of metal3/holds: ") {
					t.Errorf("%v", err)
				}
				for n := range shards {
					if has := d.get(n).Data[keyText] != ""; has == (n == 1) {
						t.Errorf("holds-%d has its record: %v", n, has)
					}
				}
				d.fail(nil)
				before := d.written()
				d.save(m, nil, everywhere(since)...)
				if got := d.written() - before; got != 1 {
					t.Errorf("%d ConfigMaps written that had been written", got-1)
				}
				d.holds(d.open(), true, everywhere(since)...)
			})
		})
	}
}

// An API server that takes its time is none that is away.
func TestBO16_SlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		const slow = 4 * time.Second
		d.before = func(string, string) { <-time.After(slow) }
		begin := time.Now()
		m := d.open()
		if took := time.Since(begin); took != 2*slow {
			t.Errorf("opened after %s", took)
		}
		begin = time.Now()
		d.save(m, nil, everywhere(since)...)
		if took := time.Since(begin); took != slow {
			t.Errorf("saved after %s", took)
		}
		d.holds(d.open(), true, everywhere(since)...)
	})
}

func TestOpenKeepsWhatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.fail(func(_, name string) int {
			if name == "holds-0" || name == "holds-5" {
				return http.StatusServiceUnavailable
			}
			return 0
		})
		time.AfterFunc(20*time.Second, func() { d.fail(nil) })
		o := d.options()
		var told []string
		o.Waiting = func(why error) { told = append(told, why.Error()) }
		m, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if d.written() != shards || len(told) != 1 || !strings.Contains(told[0], "holds in ConfigMaps: holds-") {
			t.Errorf("%d written, told %q", d.written(), told)
		}
	})
}

// What cannot go well is said at once, however long the others would take.
func TestOpenFailsAtOnceWithoutRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.fail(func(_, name string) int {
			if name == "holds-5" {
				return http.StatusForbidden
			}
			return hang
		})
		begin := time.Now()
		_, err := Open(t.Context(), d.options())
		if err == nil || !strings.Contains(err.Error(), "metal3/holds: no: Forbidden (get, update and create") || time.Since(begin) > time.Second {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
	})
}

// looks is as often as it takes to look at all ConfigMaps.
func (d *desk) looks(m *Map) {
	d.t.Helper()
	for range shards {
		if err := m.Look(); err != nil {
			d.t.Error(err)
		}
	}
}

// What others do to ConfigMaps in which nothing is new is found, too.
func TestBO16_EditsAreWrittenOver(t *testing.T) {
	for name, change := range map[string]func(*corev1.ConfigMap){
		"emptied":        func(cm *corev1.ConfigMap) { cm.Data[keyText] = "" },
		"no annotations": func(cm *corev1.ConfigMap) { cm.Annotations, cm.Data = nil, nil },
		"deleted":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				m := d.open()
				d.save(m, nil, everywhere(since)...)
				before := d.written()
				d.looks(m)
				if d.written() != before {
					t.Error("written without a change")
				}
				d.edit(3, change)
				d.fail(func(string, string) int { return http.StatusServiceUnavailable })
				d.looks(m) // that it cannot look is no failure
				d.fail(nil)
				d.looks(m)
				if got := d.written() - before; got != 1 || d.says("WARN", "was changed by somebody else") != 1 {
					t.Errorf("%d written, log: %s", got, &d.log)
				}
				d.holds(d.open(), true, everywhere(since)...)
			})
		})
	}
}

// What was found and could not be mended is said, and mended later.
func TestLookThatCannotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		m := d.open()
		d.save(m, nil, everywhere(since)...)
		d.edit(0, func(cm *corev1.ConfigMap) { cm.Data = nil })
		d.fail(func(method, _ string) int {
			if method == http.MethodPut {
				return http.StatusForbidden
			}
			return 0
		})
		for range 3 { // each time, whichever one it looks at
			if err := m.Look(); err == nil || !strings.Contains(err.Error(), "holds-0 of metal3/holds") {
				t.Error(err)
			}
		}
		d.fail(nil)
		d.looks(m)
		d.looks(m)
		d.holds(d.open(), true, everywhere(since)...)
		_ = m.Close()
		if err := m.Look(); err != nil {
			t.Error(err)
		}
	})
}

func TestLH27_WhoDoesNotLeadLooksAtNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		leading := true
		o := d.options()
		o.Leading = func() bool { return leading }
		m, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		leading = false
		d.edit(0, func(cm *corev1.ConfigMap) { cm.Data = nil })
		d.before = func(method, name string) { t.Errorf("%s %s", method, name) }
		d.looks(m)
	})
}

// as opens the ledger as a pod; it is closed with the test.
func (d *desk) as(pod string, change func(*Options)) *Map {
	d.t.Helper()
	o := d.options()
	o.Identity = pod
	if change != nil {
		change(&o)
	}
	m, err := Open(d.t.Context(), o)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = m.Close() })
	return m
}

// Whoever is shut out learns it at the next look, without anything to save, and is told
// by whom.
func TestLH27_TheOtherOneIsNamed(t *testing.T) {
	for name, elect := range map[string]bool{"an election": true, "no election": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				change := func(o *Options) {
					if elect {
						o.Leading = func() bool { return true }
					}
				}
				early := d.as("pod-a", change)
				d.as("pod-b", change)
				for range 2 {
					err := early.Look()
					if !errors.Is(err, ErrTakenOver) || !strings.Contains(err.Error(), "another process writes the holds: pod-b_") {
						t.Error(err)
					}
					if helps := strings.Contains(err.Error(), "without IRONIC_THROTTLE_LEADER_ELECT, one throttle at a time"); helps == elect {
						t.Error(err)
					}
				}
				if err := early.Save(holdoff.Batch{Puts: everywhere(since)}); !errors.Is(err, ErrTakenOver) {
					t.Errorf("Save: %v", err)
				}
				// Another fault beside it does not hide it.
				third := d.as("pod-c", change)
				d.as("pod-d", change)
				d.fail(func(method, name string) int {
					if method == http.MethodPut && name == "holds-0" {
						return http.StatusUnprocessableEntity
					}
					return 0
				})
				if err := third.Save(holdoff.Batch{Puts: everywhere(since)}); !errors.Is(err, ErrTakenOver) || !strings.Contains(err.Error(), "pod-d_") {
					t.Errorf("Save: %v", err)
				}
			})
		})
	}
}

func TestTheWriterIsOnEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.as("pod-a", nil)
		d.as("pod-b", nil)
		for n := range shards {
			cm := d.get(n)
			if w := cm.Annotations[annotationWriter]; !strings.HasPrefix(w, "pod-b_") || !strings.HasPrefix(cm.Annotations[annotationBefore], "pod-a_") {
				t.Errorf("%v", cm.Annotations)
			}
		}
	})
}

// Of two pods without an election the newer one has the ledger: the older one, which ends
// and is started anew, does not take it back before a rollout is over.
func TestLH27_TheOlderPodGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		takes := func(pod string, change func(*Options)) time.Duration {
			begin := time.Now()
			_ = d.as(pod, change).Close()
			return time.Since(begin)
		}
		now := func(pod string, change func(*Options)) {
			t.Helper()
			if took := takes(pod, change); took != 0 {
				t.Errorf("%s has waited for %s", pod, took)
			}
		}
		now("pod-a", nil)
		now("pod-a", nil) // a container that was started anew
		now("pod-b", nil)
		now("pod-b", nil)
		now("", nil) // nobody knows who that is
		now("pod-b", func(o *Options) { o.Leading = func() bool { return true } })
		now("pod-a", nil) // the one before has no name
		now("pod-b", func(o *Options) { o.Leading = func() bool { return true } })
		now("pod-b", nil)

		var told []string
		waits := func(o *Options) { o.Waiting = func(why error) { told = append(told, why.Error()) } }
		if took := takes("pod-a", waits); took != yield {
			t.Errorf("it has given way for %s", took)
		}
		if len(told) != 1 || !strings.Contains(told[0], "pod-b_") || !strings.Contains(told[0], "has taken metal3/holds from this pod and is left alone for 3m0s") {
			t.Errorf("told %q", told)
		}
		// A third one that comes meanwhile has its time, too.
		time.AfterFunc(yield/2, func() { now("pod-c", nil) })
		if took := takes("pod-b", nil); took != 2*yield {
			t.Errorf("it has given way for %s", took)
		}
	})
}

func TestGivingWayEndsWithTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.as("pod-a", nil)
		d.as("pod-b", nil)
		before := d.written()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		o := d.options()
		o.Identity = "pod-a"
		if _, err := Open(ctx, o); !errors.Is(err, context.Canceled) || d.written() != before {
			t.Errorf("%v, %d written", err, d.written()-before)
		}
		// A server that does not answer is asked again, and not taken for one that allows it.
		d.fail(func(string, string) int { return http.StatusServiceUnavailable })
		if _, err := Open(t.Context(), o); err == nil || d.written() != before {
			t.Errorf("%v, %d written", err, d.written()-before)
		}
	})
}
