package holds

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func mustJSON(t testing.TB, r holdoff.Record) []byte {
	t.Helper()
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// step is one thing that happens.
type step struct {
	what string
	put  map[int]int // host: the seconds of since
	del  []int
	code int // of the requests' weather
}

// TestBO16_LedgerIsTheMap does random things to a ledger and a plain map of what was
// saved: whoever opens the ledger next finds what the map has, and what is known of limits.
func TestBO16_LedgerIsTheMap(t *testing.T) {
	host := rapid.IntRange(0, 30)
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			what: rapid.SampledFrom([]string{"save", "save", "save", "limits", "limits", "crash", "successor", "label", "weather", "weather"}).Draw(t, "what"),
			put:  rapid.MapOfN(host, rapid.IntRange(0, 3), 0, 6).Draw(t, "put"),
			del:  rapid.SliceOfNDistinct(host, 0, 4, rapid.ID).Draw(t, "del"),
			code: rapid.SampledFrom([]int{0, 0, hang, deaf, http.StatusServiceUnavailable, http.StatusConflict}).Draw(t, "code"),
		}
	}), 1, 15)
	rapid.Check(t, func(rt *rapid.T) {
		plan := steps.Draw(rt, "steps")
		fault := ""
		synctest.Test(t, func(t *testing.T) { fault = live(t, plan) })
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}

func live(t *testing.T, plan []step) string {
	t.Helper()
	d := newDesk(t)
	m := d.open()
	kept := map[string]holdoff.Record{}
	var pending holdoff.Batch       // what a Book would give again
	limits := map[int]bool{0: true} // that may be kept: what was saved last, and what failed since
	for i, s := range plan {
		switch s.what {
		case "save":
			pending = s.over(pending)
			if m.Save(pending) == nil {
				pending = enter(kept, pending)
			}
		case "limits":
			if m.SaveLimits(limitText(t, i+1)) == nil {
				clear(limits)
			}
			limits[i+1] = true
		case "weather":
			calls := 0
			d.fail(func(method, _ string) int {
				if calls++; method == http.MethodGet || calls%3 == 0 {
					return 0
				}
				return s.code
			})
		case "label":
			d.edit(i%shards, func(cm *corev1.ConfigMap) { cm.Labels["i"] = fmt.Sprint(i) })
		default: // another process
			d.fail(nil)
			if !pending.Empty() { // what a failed save left is not known
				if err := m.Save(pending); err != nil {
					return fmt.Sprintf("step %d: %v", i, err)
				}
				pending = enter(kept, pending)
			}
			early := m
			m = d.open()
			got, known, err := m.Load()
			if want := slices.Collect(maps.Values(kept)); !known || err != nil || !same(got, want) {
				return fmt.Sprintf("step %d: known %v, %v: %v, want %v", i, known, err, got, want)
			}
			learned, err := m.LoadLimits()
			found := learned.Pools[""].Limit
			if err != nil || !limits[found] {
				return fmt.Sprintf("step %d: limit %d, %v, want one of %v", i, found, err, limits)
			}
			limits = map[int]bool{found: true}
			if s.what == "successor" {
				err := early.Save(holdoff.Batch{Puts: []holdoff.Record{record("late", since)}})
				if !errors.Is(err, ErrTakenOver) {
					return fmt.Sprintf("step %d: the earlier one: %v", i, err)
				}
			}
			_ = early.Close()
		}
	}
	return ""
}

// enter does to kept what a saved batch does, and returns what is pending then.
func enter(kept map[string]holdoff.Record, b holdoff.Batch) holdoff.Batch {
	for _, r := range b.Puts {
		kept[r.UUID] = r
	}
	for _, uuid := range b.Deletes {
		delete(kept, uuid)
	}
	return holdoff.Batch{}
}

// over is s as a batch that has what is pending, too.
func (s step) over(pending holdoff.Batch) holdoff.Batch {
	puts := map[string]holdoff.Record{}
	deletes := map[string]bool{}
	for _, r := range pending.Puts {
		puts[r.UUID] = r
	}
	for _, uuid := range pending.Deletes {
		deletes[uuid] = true
	}
	for host, seconds := range s.put {
		uuid := fmt.Sprint("host-", host)
		puts[uuid] = record(uuid, since.Add(time.Duration(seconds)*time.Second))
		delete(deletes, uuid)
	}
	for _, host := range s.del {
		uuid := fmt.Sprint("host-", host)
		deletes[uuid] = true
		delete(puts, uuid)
	}
	return holdoff.Batch{Puts: slices.Collect(maps.Values(puts)), Deletes: slices.Sorted(maps.Keys(deletes))}
}

func same(a, b []holdoff.Record) bool {
	index := func(records []holdoff.Record) map[string]string {
		byUUID := map[string]string{}
		for _, r := range records {
			line, _ := json.Marshal(r)
			byUUID[r.UUID] = string(line)
		}
		return byUUID
	}
	return len(a) == len(b) && maps.Equal(index(a), index(b))
}
