package fakeironic

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// history drives a world with whatever comes to mind and checks the laws after
// each thing that happens.
type history struct {
	t     *rapid.T
	w     *World
	now   time.Time
	all   []*node // also those that are gone
	known map[*node]ironic.State
	peak  int // the most hosts that were seen to work
}

func (h *history) note() {
	for _, n := range h.w.nodes {
		if _, ok := h.known[n]; !ok {
			h.known[n] = n.state
			h.all = append(h.all, n)
		}
	}
}

// advance plays event by event, so that no state passes unseen.
func (h *history) advance(d time.Duration) {
	until := h.now.Add(d)
	for {
		at, ok := h.w.Next()
		if !ok || at.After(until) {
			break
		}
		h.w.Advance(at)
		h.check()
	}
	h.w.Advance(until)
	h.now = until
	h.check()
}

func (h *history) check() {
	truth := h.w.Truth(time.Unix(0, h.w.now)) // plays what is due at this very moment
	h.note()
	working, booting, integral := 0, 0, int64(0)
	counts := map[ironic.State]int{}
	for _, n := range h.all {
		if was := h.known[n]; !mayGo(was, n.state) {
			h.t.Fatalf("%s left the table: %s", n.uuid, describe(was, n.state))
		}
		h.known[n] = n.state
		integral += n.done.workNanos
		if n.gone {
			continue
		}
		counts[n.state]++
		if n.state.Busy() {
			working++
			integral += h.w.now - n.done.since
		}
		if n.booting {
			booting++
		}
		if n.booting && (n.agent || !waitStates[n.state]) {
			h.t.Fatalf("%s boots in %s, agent %v", n.uuid, n.state, n.agent)
		}
		if rows := h.w.byState[n.list().state]; searchID(rows, n.id) >= len(rows) || rows[searchID(rows, n.id)] != n {
			h.t.Fatalf("%s is not in the index of %s", n.uuid, n.list().state)
		}
	}
	checkRanks(h.t, h.w)
	rows := 0
	for _, s := range h.w.byState {
		rows += len(s)
	}
	if rows != len(h.w.nodes) {
		h.t.Fatalf("the index has %d rows, the world %d nodes", rows, len(h.w.nodes))
	}
	for s, c := range h.w.counts {
		if counts[s] != c {
			h.t.Fatalf("%d nodes in %s, counted %d", counts[s], s, c)
		}
	}
	h.peak = max(h.peak, working)
	if truth.Working != working || truth.Booting != booting || truth.PeakWorking < h.peak || int64(truth.HostTime) != integral {
		h.t.Fatalf("truth %+v, but %d work and the hosts' times add up to %d", truth, working, integral)
	}
	ended := truth.Finished + truth.Failed + truth.Aborted
	if truth.Started < ended || truth.OverLimit > truth.HostTime {
		h.t.Fatalf("truth does not add up: %+v", truth)
	}
}

func drawOptions(t *rapid.T) Options {
	o := DefaultOptions()
	o.Seed = rapid.Uint64().Draw(t, "seed")
	o.Fleet.Nodes = rapid.IntRange(1, 12).Draw(t, "nodes")
	o.Fleet.Start = rapid.SampledFrom([]ironic.State{ironic.Enroll, ironic.Manageable, ironic.Available, ironic.Active}).Draw(t, "start")
	o.FastTrack = rapid.Bool().Draw(t, "fast")
	o.AutomatedClean = rapid.Bool().Draw(t, "clean")
	o.API.MaxMinor = 82
	o.Limit = 3
	o.Fates = Fates{NeverHeartbeat: 0.1, Vanish: 0.1, Hang: 0.05, Flap: 0.1, CleanReboot: 0.3, Failing: 0.3, FailTries: 2,
		FailTargets: []string{"active", "clean", "provide", "inspect", "deleted", "rescue", "unrescue"}}
	if rapid.Bool().Draw(t, "lag") {
		o.ListLag = Span{Max: 2 * time.Second}
	}
	o.WholeSeconds, o.NullsFirst = rapid.Bool().Draw(t, "whole seconds"), rapid.Bool().Draw(t, "nulls first")
	if rapid.Bool().Draw(t, "crowded") {
		o.Overload = Overload{BootCapacity: 2, CollapseAbove: 4, CollapseChance: 0.5}
	}
	// Nothing takes no time at all, so one look sees one change of a node.
	o.Durations.Handover, o.Durations.InspectRun = Span{Min: time.Second, Max: 2 * time.Second}, Span{Min: time.Second, Max: time.Minute}
	return o
}

// TestLawsOverRandomHistories: a node never leaves the table of docs/dev/reference/ironic.md, and the
// truth is what the hosts really did.
func TestLawsOverRandomHistories(t *testing.T) {
	targets := []ironic.Target{"manage", "provide", "clean", "inspect", "active", "rebuild", "deleted", "rescue", "unrescue", "abort", "adopt"}
	fates := []Fate{FateHang, FateNever, FateFlap, FateFail, FateFailNow, FateVanish, FateAgentLost, FateLock, FateHeal, FateHeal}
	rapid.Check(t, func(t *rapid.T) {
		w, err := NewWorld(drawOptions(t), t0)
		if err != nil {
			t.Fatal(err)
		}
		h := &history{t: t, w: w, now: t0, known: map[*node]ironic.State{}}
		h.note()
		some := func() string {
			ids := w.Idents()
			if len(ids) == 0 {
				return "nobody"
			}
			return rapid.SampledFrom(ids).Draw(t, "node")
		}
		t.Repeat(map[string]func(*rapid.T){
			"put":     func(t *rapid.T) { w.SetProvision(h.now, some(), rapid.SampledFrom(targets).Draw(t, "target")) },
			"befall":  func(t *rapid.T) { _ = w.Befall(h.now, some(), rapid.SampledFrom(fates).Draw(t, "fate")) },
			"delete":  func(t *rapid.T) { w.DeleteNode(h.now, some()) },
			"advance": func(t *rapid.T) { h.advance(time.Duration(rapid.IntRange(1, 4000).Draw(t, "seconds")) * time.Second) },
			"restart": func(t *rapid.T) {
				_ = w.StopConductor(h.now, rapid.IntRange(0, 1).Draw(t, "conductor"), time.Duration(rapid.IntRange(0, 600).Draw(t, "down"))*time.Second, rapid.Bool().Draw(t, "killed"))
			},
			"create": func(*rapid.T) {
				if _, err := w.CreateNode(h.now, NodeSpec{}); err != nil {
					t.Fatal(err)
				}
			},
			"": func(*rapid.T) { h.check() },
		})
	})
}

// TestPagingByMarker: whoever pages by marker meets each surviving node once,
// whatever is deleted meanwhile, unless the marker itself goes (404).
func TestPagingByMarker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := fixed(func(o *Options) { o.Fleet.Nodes = rapid.IntRange(0, 40).Draw(t, "nodes") })
		w, err := NewWorld(o, t0)
		if err != nil {
			t.Fatal(err)
		}
		q := Query{Limit: rapid.IntRange(1, 9).Draw(t, "limit"), Desc: rapid.Bool().Draw(t, "desc"),
			SortKey: rapid.SampledFrom([]string{"", "id", "uuid", "name", "created_at"}).Draw(t, "sort"),
			State:   rapid.SampledFrom([]ironic.State{"", ironic.Available}).Draw(t, "state")}
		met := map[string]int{}
		for {
			page, more, fault := w.List(t0, q)
			if fault != "" {
				t.Fatal(fault)
			}
			for _, n := range page {
				met[n.UUID]++
			}
			if !more {
				break
			}
			q.Marker = page[len(page)-1].UUID
			for range rapid.IntRange(0, 3).Draw(t, "deletes") {
				if id := rapid.SampledFrom(w.Idents()).Draw(t, "deleted"); id != q.Marker {
					w.DeleteNode(t0, id)
				}
			}
		}
		for _, id := range w.Idents() {
			if met[id] != 1 {
				t.Fatalf("%s came %d times", id, met[id])
			}
			delete(met, id)
		}
	})
}

// checkRanks holds that the index finds what a walk over all nodes would find.
func checkRanks(t *rapid.T, w *World) {
	t.Helper()
	for _, n := range w.ranked {
		if n.gone {
			t.Fatalf("%s is gone and still in the order", n.uuid)
		}
	}
	for _, desc := range []bool{true, false} {
		for _, limit := range []int{1, 3, len(w.nodes) + 1} {
			q := &Query{Limit: limit, SortKey: "provision_updated_at", Desc: desc}
			want := q.byKey(w.nodes, nil, columns[q.SortKey], w.opt.NullsFirst)
			if got := w.byStamp(q); !slices.Equal(got, want) {
				t.Fatalf("desc %v, limit %d: %d rows, want %d, or another order", desc, limit, len(got), len(want))
			}
		}
	}
}
