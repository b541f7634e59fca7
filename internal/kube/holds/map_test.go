package holds

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestBO16_SavedIsLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		m := d.open()
		d.holds(m, false) // there was none
		if d.says("WARN", "no holds in ConfigMaps yet") != 1 || d.written() != shards {
			t.Errorf("%d written, log: %s", d.written(), &d.log)
		}
		d.save(m, nil, record("a", since), record("b", since), record("c", since))
		d.save(m, []string{"b", "x"}, record("c", since.Add(1)))
		before := d.written()
		d.save(m, nil)
		d.save(m, []string{"b"}, record("a", since))
		if d.written() != before {
			t.Error("written without a change")
		}
		d.log.Reset()
		for range 2 {
			m = d.open()
			d.holds(m, true, record("a", since), record("c", since.Add(1)))
			d.holds(m, true) // once
		}
		if d.log.Len() > 0 {
			t.Error(&d.log)
		}
		cm := d.get(shardOf("a"))
		if text := cm.Data[keyText]; !strings.Contains(text, `"uuid":"a"`) || cm.Labels[labelManager] != manager || len(cm.BinaryData) > 0 {
			t.Errorf("%+v", cm)
		}
	})
}

func TestOneWriteASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		m := d.open()
		begin := time.Now()
		for i := range 5 {
			d.save(m, nil, record("a", since.Add(time.Duration(i))))
			if got := time.Since(begin); got != time.Duration(i)*pause {
				t.Errorf("save %d after %s", i, got)
			}
		}
		go func() {
			<-time.After(pause / 2)
			_ = m.Close()
		}()
		if err := m.Save(holdoff.Batch{Deletes: []string{"a"}}); !errors.Is(err, fs.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestClosed(t *testing.T) {
	d := newDesk(t)
	m := d.open()
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := m.Save(holdoff.Batch{}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Save: %v", err)
	}
	if _, _, err := m.Load(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Load: %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := Open(t.Context(), Options{Namespace: "a/b", Name: "Holds"})
	for _, want := range []string{"config: must be set", `namespace: "a/b"`, `name: "Holds"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// An earlier leader that was paused writes nothing over what a later one has.
func TestLH27_EarlierLeaderIsShutOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		early := d.open()
		d.save(early, nil, record("a", since))
		late := d.open()
		before := d.written()
		for range 3 { // the first one before the later one has written
			if err := early.Save(holdoff.Batch{Deletes: []string{"a"}}); !errors.Is(err, ErrTakenOver) {
				t.Error(err)
			}
		}
		if d.written() != before {
			t.Error("written by the earlier one")
		}
		d.save(late, nil, record("b", since))
		d.holds(d.open(), true, record("a", since), record("b", since))
	})
}

// A would-be leader that was paused in the midst of its claim does not end the term of
// the one that leads now (LH-27).
func TestLH27_LateClaimLeavesTheLeaderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for at := range shards {
			d := newDesk(t)
			d.open()
			var lost atomic.Bool
			paused, wake := make(chan struct{}), make(chan struct{})
			var pause atomic.Bool
			pause.Store(true)
			d.before = func(method, name string) {
				if method == http.MethodPut && name == shardName("holds", at) && pause.Swap(false) {
					close(paused)
					<-wake
				}
			}
			o := d.options()
			o.Leading = func() bool { return !lost.Load() }
			late := make(chan error, 1)
			go func() {
				m, err := Open(t.Context(), o)
				if err == nil {
					_ = m.Close()
				}
				late <- err
			}()
			<-paused
			synctest.Wait() // the other seven are done
			lost.Store(true)
			leader := d.open()
			before := d.written()
			close(wake)
			if err := <-late; !errors.Is(err, ErrNotLeading) || errors.Is(err, ErrTakenOver) || !strings.Contains(err.Error(), "holds-") {
				t.Errorf("paused at %d: %v", at, err)
			}
			if d.written() != before {
				t.Errorf("paused at %d: written by the late one", at)
			}
			for n := range shards {
				d.save(leader, nil, record(hosts(n, 1)[0], since))
			}
		}
	})
}

func TestLH27_WhoDoesNotLeadSavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		var lost atomic.Bool
		o := d.options()
		o.Leading = func() bool { return !lost.Load() }
		m, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		d.save(m, nil, record("a", since))
		before := d.written()
		lost.Store(true)
		two := holdoff.Batch{Puts: []holdoff.Record{record("b", since)}}
		for range 2 {
			if err := m.Save(two); !errors.Is(err, ErrNotLeading) || errors.Is(err, ErrTakenOver) {
				t.Error(err)
			}
		}
		if _, err := Open(t.Context(), o); !errors.Is(err, ErrNotLeading) {
			t.Error(err)
		}
		// The last look was a moment ago: a write that meets a newer object is another one.
		d.edit(shardOf("b"), func(cm *corev1.ConfigMap) { cm.Labels["team"] = "metal" })
		lost.Store(false)
		d.before = func(method, _ string) { lost.Store(lost.Load() || method == http.MethodPut) }
		if err := m.Save(two); !errors.Is(err, ErrNotLeading) {
			t.Error(err)
		}
		if d.written() != before {
			t.Error("written without leading")
		}
		d.before = nil
		lost.Store(false)
		d.save(m, nil, two.Puts...)
		d.holds(d.open(), true, record("a", since), record("b", since))
	})
}

// What others do to our ConfigMaps does not stop us while no other throttle writes.
func TestOthersMayTouchTheConfigMaps(t *testing.T) {
	for name, change := range map[string]func(*corev1.ConfigMap){
		"a label":        func(cm *corev1.ConfigMap) { cm.Labels["team"] = "metal" },
		"an edit":        func(cm *corev1.ConfigMap) { cm.Data[keyText] = "mine\n" },
		"no annotations": func(cm *corev1.ConfigMap) { cm.Annotations = nil },
		"deleted":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				m := d.open()
				two := hosts(3, 2)
				d.save(m, nil, record(two[0], since))
				d.edit(3, change)
				d.save(m, nil, record(two[1], since))
				if name == "a label" && d.get(3).Labels["team"] != "metal" {
					t.Error("the label is gone")
				}
				d.holds(d.open(), true, record(two[0], since), record(two[1], since))
			})
		})
	}
}

func TestLostAnswers(t *testing.T) {
	for name, code := range map[string]int{"asked for nothing": hang, "done": deaf, "unavailable": http.StatusServiceUnavailable} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				m := d.open()
				d.fail(func(method, _ string) int {
					if method == http.MethodPut {
						return code
					}
					return 0
				})
				for i := range 3 {
					begin := time.Now()
					err := m.Save(holdoff.Batch{Puts: []holdoff.Record{record("a", since.Add(time.Duration(i)))}})
					if err == nil || errors.Is(err, ErrTakenOver) || !strings.Contains(err.Error(), "holds in ConfigMaps: holds-") {
						t.Error(err)
					}
					if took := time.Since(begin); took > pause+saveTimeout {
						t.Errorf("took %s", took)
					}
				}
				d.fail(nil)
				d.save(m, nil, record("b", since))
				d.holds(d.open(), true, record("a", since.Add(2)), record("b", since))
			})
		})
	}
}

func TestOpenWaitsForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.fail(func(string, string) int { return http.StatusServiceUnavailable })
		begin := time.Now()
		time.AfterFunc(10*time.Second, func() { d.fail(nil) })
		m := d.open()
		if took := time.Since(begin); took < 10*time.Second || took > 12*time.Second || d.says("WARN", "cannot be read yet") != 1 {
			t.Errorf("took %s, log: %s", took, &d.log)
		}
		d.holds(m, false)

		d.fail(func(string, string) int { return hang })
		begin = time.Now()
		if _, err := Open(t.Context(), d.options()); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != openTimeout {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
	})
}

func TestMissingRightsAreSaid(t *testing.T) {
	for _, refused := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
		d := newDesk(t)
		if refused == http.MethodPut {
			d.edit(0, func(*corev1.ConfigMap) {})
		}
		d.fail(func(method, _ string) int {
			if method == refused {
				return http.StatusForbidden
			}
			return 0
		})
		_, err := Open(t.Context(), d.options())
		if err == nil || !strings.Contains(err.Error(), "get, update and create of the ConfigMaps holds-0 to holds-7 are needed") {
			t.Errorf("%s: %v", refused, err)
		}
	}
}

// No right to create is needed where somebody has made the ConfigMaps.
func TestConfigMapsThatWereMadeBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		for n := range shards {
			d.edit(n, func(*corev1.ConfigMap) {})
		}
		d.fail(func(method, _ string) int {
			if method == http.MethodPost {
				return http.StatusForbidden
			}
			return 0
		})
		m := d.open()
		d.holds(m, false)
		d.save(m, nil, record("a", since))
		d.holds(d.open(), true, record("a", since))
	})
}

func TestConfigIsLeftAlone(t *testing.T) {
	d := newDesk(t)
	o := d.options()
	o.Log = nil
	before := *o.Config
	m, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if o.Config.QPS != before.QPS || o.Config.Timeout != before.Timeout {
		t.Errorf("%v", o.Config)
	}
}
