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
	powers := []string{"power on", "power off", "rebooting"}
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
			"power":   func(t *rapid.T) { w.SetPower(h.now, some(), rapid.SampledFrom(powers).Draw(t, "power")) },
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

// TestPagingByAColumnWithNULLsLosesRows, as on both databases (docs/dev/reference/ironic.md).
func TestPagingByAColumnWithNULLsLosesRows(t *testing.T) {
	w := newWorld(t, fixed(func(o *Options) { o.Fleet.Nodes = 6 }))
	ids := w.Idents()
	put(t, w, t0.Add(time.Second), ids[3], ironic.TargetActive, 202)
	put(t, w, t0.Add(2*time.Second), ids[1], ironic.TargetActive, 202)
	for _, c := range []struct {
		desc  bool
		first string
		met   int
	}{{true, ids[1], 2}, {false, ids[0], 4}} {
		q := Query{Limit: 1, SortKey: "provision_updated_at", Desc: c.desc}
		met := 0
		for {
			page, more, fault := w.List(t0.Add(3*time.Second), q)
			if fault != "" {
				t.Fatal(fault)
			}
			if met == 0 && page[0].UUID != c.first {
				t.Errorf("desc %v begins with %s", c.desc, page[0].UUID)
			}
			met += len(page)
			if !more {
				break
			}
			q.Marker = page[0].UUID
		}
		if met != c.met {
			t.Errorf("desc %v: %d rows, a real database gives %d of 6", c.desc, met, c.met)
		}
	}
	// As seen on a real one: an unnamed marker leaves its id to compare, a named
	// one hides the unnamed.
	w = newWorld(t, fixed(func(o *Options) { o.Fleet.Nodes = 0 }))
	ids = nil
	for _, name := range []string{"b", "", "a", ""} {
		id, err := w.CreateNode(t0, NodeSpec{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	for _, c := range []struct {
		marker int
		desc   bool
		want   []int
	}{{0, false, nil}, {0, true, []int{2}}, {2, true, nil}, {1, false, []int{3, 2}}, {3, true, []int{0, 2, 1}}} {
		page, _, _ := w.List(t0, Query{SortKey: "name", Marker: ids[c.marker], Desc: c.desc})
		var got []int
		for _, n := range page {
			got = append(got, slices.Index(ids, n.UUID))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("behind %d, desc %v: %v, a real one gives %v", c.marker, c.desc, got, c.want)
		}
	}
	if _, _, fault := w.List(t0, Query{Marker: "11111111-1111-4111-8111-111111111111"}); fault == "" {
		t.Error("the marker of a deleted node is a 404")
	}
}
