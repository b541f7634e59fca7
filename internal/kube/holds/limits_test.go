package holds

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// limit is what is known of a limit that was found.
func limit(n int) sizing.State {
	return sizing.State{Version: sizing.StateVersion, Pools: map[string]sizing.Record{
		"": {Limit: n, Bad: n + 10, Stood: n, BadAt: since, Windows: []sizing.Window{{At: since, Limit: n, Occupied: n, Up: 10}}},
	}}
}

func limitText(t testing.TB, n int) []byte {
	t.Helper()
	text, err := limit(n).Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (d *desk) saveLimits(m *Map, n int) {
	d.t.Helper()
	if err := m.SaveLimits(limitText(d.t, n)); err != nil {
		d.t.Error(err)
	}
}

// limits loads what is known of them and compares.
func (d *desk) limits(m *Map, want sizing.State) {
	d.t.Helper()
	got, err := m.LoadLimits()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		d.t.Errorf("error %v: %s", err, diff)
	}
}

// What one leader has learned the next one knows, and the one before writes nothing over it.
func TestSZ7_LimitsAreHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		early := d.as("pod-a", nil)
		d.limits(early, sizing.State{}) // there was nothing
		d.save(early, nil, everywhere(since)...)
		d.saveLimits(early, 30)
		before := d.written()
		d.saveLimits(early, 30)
		d.save(early, nil, everywhere(since)...)
		if d.written() != before {
			t.Error("written without a change")
		}
		late := d.as("pod-b", nil)
		d.limits(late, limit(30))
		d.holds(late, true, everywhere(since)...)
		before = d.written()
		for range 2 {
			if err := early.SaveLimits(limitText(t, 90)); !errors.Is(err, ErrTakenOver) || !strings.Contains(err.Error(), "pod-b_") {
				t.Errorf("%v", err)
			}
		}
		if d.written() != before {
			t.Error("written by the earlier one")
		}
		d.saveLimits(late, 40)
		d.save(late, nil, record(hosts(limitShard, 1)[0], since.Add(1)))
		third := d.as("pod-c", nil)
		d.limits(third, limit(40))
		d.saveLimits(third, 50)
		_ = third.Close()
		if err := third.SaveLimits(limitText(t, 60)); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%v", err)
		}
		if _, err := third.LoadLimits(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%v", err)
		}
		d.limits(d.as("pod-d", nil), limit(50))
		if got := d.says("WARN", "changed by somebody else"); got != 0 {
			t.Errorf("log: %s", &d.log)
		}
	})
}

// What cannot be read is an error that names its place, stays as it is until the next save, and
// costs no hold.
func TestSZ7_BrokenLimitsAreLeftAlone(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"a text", "limits\n", "invalid character"},
		{"cut off", `{"version":2,"pools":{`, "unexpected end of JSON"},
		{"a later version", `{"version":3}`, "version: 3 is not 2"},
		{"what no limit is", `{"version":2,"pools":{"":{"limit":0}}}`, "a number is out of range"},
		{"too large", strings.Repeat(" ", sizing.MaxState+1), "longer than"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.save(d.open(), nil, everywhere(since)...)
				d.edit(limitShard, func(cm *corev1.ConfigMap) { cm.Data[keyLimits] = row.text })
				m := d.open()
				for range 2 {
					s, err := m.LoadLimits()
					if err == nil || !strings.HasPrefix(err.Error(), "limits in ConfigMap: holds-0 of metal3/holds: limits.json: ") ||
						!strings.Contains(err.Error(), row.want) || len(s.Pools) > 0 {
						t.Errorf("%+v, %v, want %s", s, err, row.want)
					}
				}
				d.holds(m, true, everywhere(since)...)
				d.save(m, nil, record(hosts(limitShard, 1)[0], since.Add(1)))
				if kept := d.get(limitShard).Data[keyLimits]; kept != row.text {
					t.Errorf("%d bytes of %d are kept", len(kept), len(row.text))
				}
				d.saveLimits(m, 30)
				d.limits(d.open(), limit(30))
			})
		})
	}
}

// Without room for both, the holds are kept. The limits come back when there is room.
func TestSZ7_WithoutRoomTheLimitsAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		m := d.open()
		d.saveLimits(m, 30)
		all := hosts(limitShard, 100)
		var puts []holdoff.Record
		for _, host := range all {
			puts = append(puts, record(host, since))
		}
		d.save(m, nil, puts...)
		m.shards[limitShard].room = len(d.get(limitShard).Data[keyText]) + len(limitText(t, 30))
		d.saveLimits(m, 31) // just fits
		if d.get(limitShard).Data[keyLimits] == "" || d.says("WARN", "no room") != 0 {
			t.Errorf("log: %s", &d.log)
		}
		m.shards[limitShard].room--
		for n := range 3 {
			d.saveLimits(m, 32+n)
		}
		if d.get(limitShard).Data[keyLimits] != "" || d.says("WARN", "no room for what is known of limits") != 1 {
			t.Errorf("log: %s", &d.log)
		}
		d.holds(d.open(), true, puts...)

		m = d.open()
		d.saveLimits(m, 40)
		d.save(m, all[:1])
		d.holds(d.open(), true, puts[1:]...)
	})
}

// The most that there can be of both fits into what an API server takes, or is left out.
func TestTheLargestLimitsBesideHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		m := d.open()
		var puts []holdoff.Record
		for _, host := range hosts(limitShard, 1000) {
			puts = append(puts, record(host, since))
		}
		d.save(m, nil, puts...)
		large := limit(1)
		r := large.Pools[""]
		for len(r.Windows) < 16 {
			r.Windows = append(r.Windows, r.Windows[0])
		}
		for len(large.Pools) < 64 {
			large.Pools[strings.Repeat("x", 100)+string(rune('0'+len(large.Pools)))] = r
		}
		text, err := large.Text()
		if err != nil {
			t.Fatal(err)
		}
		if err := m.SaveLimits(text); err != nil {
			t.Fatal(err)
		}
		d.limits(d.open(), large)
		m = d.open() // Text returns nothing larger than this:
		if err := m.SaveLimits([]byte(strings.Repeat(" ", sizing.MaxState))); err != nil {
			t.Error(err)
		}
		if got := len(d.get(limitShard).Data[keyLimits]); got != sizing.MaxState {
			t.Errorf("%d bytes", got)
		}
		d.holds(d.open(), true, puts...)
	})
}

// An edit by hand is written over, and a key that this program does not know costs nothing.
func TestSZ7_EditsOfLimitsAreWrittenOver(t *testing.T) {
	for name, change := range map[string]func(*corev1.ConfigMap){
		"another limit":            func(cm *corev1.ConfigMap) { cm.Data[keyLimits] = string(limitText(t, 99)) },
		"without limits":           func(cm *corev1.ConfigMap) { delete(cm.Data, keyLimits) },
		"emptied":                  func(cm *corev1.ConfigMap) { cm.Data = nil },
		"a key of a later program": func(cm *corev1.ConfigMap) { cm.Data["later.json"] = "{" },
		"deleted":                  nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				m := d.open()
				d.save(m, nil, everywhere(since)...)
				d.saveLimits(m, 30)
				d.edit(limitShard, change)
				d.looks(m)
				m = d.open()
				d.limits(m, limit(30))
				d.holds(m, true, everywhere(since)...)
			})
		})
	}
}

// A program of before drops the key as it takes the holds over. That costs what was known of the
// limits, and nothing else.
func TestSZ7_AnEarlierProgramDropsTheLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		m := d.open()
		d.save(m, nil, everywhere(since)...)
		d.saveLimits(m, 30)
		_ = m.Close()
		for n := range shards {
			d.edit(n, func(cm *corev1.ConfigMap) { cm.Data = map[string]string{keyText: cm.Data[keyText]} })
		}
		m = d.open()
		d.limits(m, sizing.State{})
		d.holds(m, true, everywhere(since)...)
	})
}

// Limits that cannot be saved are an error of their own: the holds are saved, and count as such.
func TestSZ7_LimitsThatCannotBeSaved(t *testing.T) {
	for name, code := range map[string]int{"asked for nothing": hang, "done": deaf, "unavailable": http.StatusServiceUnavailable, "refused": http.StatusForbidden} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				m := d.open()
				d.save(m, nil, everywhere(since)...)
				d.fail(func(method, _ string) int {
					if method == http.MethodPut {
						return code
					}
					return 0
				})
				for range 2 {
					if err := m.SaveLimits(limitText(t, 30)); err == nil || !strings.Contains(err.Error(), "holds-0 of metal3/holds: ") {
						t.Errorf("%v", err)
					}
				}
				if err := m.Save(holdoff.Batch{}); err != nil {
					t.Errorf("holds: %v", err)
				}
				if code != deaf { // else it is there, and nobody knows
					d.looks(m)
				}
				d.fail(nil)
				d.looks(m)
				d.saveLimits(m, 30)
				if got := d.says("WARN", "changed by somebody else"); got != 0 {
					t.Errorf("log: %s", &d.log)
				}
				m = d.open()
				d.limits(m, limit(30))
				d.holds(m, true, everywhere(since)...)
			})
		})
	}
}

func TestLH27_WhoDoesNotLeadSavesNoLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		leading := true
		m := d.as("pod-a", func(o *Options) { o.Leading = func() bool { return leading } })
		d.saveLimits(m, 30)
		before := d.written()
		leading = false
		if err := m.SaveLimits(limitText(t, 40)); !errors.Is(err, ErrNotLeading) || errors.Is(err, ErrTakenOver) || d.written() != before {
			t.Errorf("%v", err)
		}
		leading = true
		d.saveLimits(m, 40)
		d.limits(d.open(), limit(40))
	})
}
