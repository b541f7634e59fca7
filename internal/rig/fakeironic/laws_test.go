package fakeironic

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// history drives a world with whatever comes to mind and checks the laws after each thing that happens.
type history struct {
	t     *rapid.T
	w     *World
	now   time.Time
	all   []*node // also those that are gone
	known map[*node]ironic.State
	peak  int // the most hosts that were seen to work
}

// advance plays event by event, so that no state passes unseen.
func (h *history) advance(d time.Duration) {
	until := h.now.Add(d)
	for {
		at, _, ok := h.w.next()
		if !ok || at > until.UnixNano() {
			break
		}
		h.w.Advance(time.Unix(0, at))
		h.check()
	}
	h.now = until
	h.check()
}

func (h *history) check() {
	truth := h.w.Truth(time.Unix(0, h.w.now)) // plays what is due at this very moment
	for _, n := range h.w.nodes {
		if _, met := h.known[n]; !met {
			h.known[n] = n.state
			h.all = append(h.all, n)
		}
	}
	working, booting := 0, 0
	for _, n := range h.all {
		if was := h.known[n]; !mayGo(was, n.state) {
			h.t.Fatalf("%s left the table: %s -> %s", n.uuid, was, n.state)
		}
		h.known[n] = n.state
		if n.gone {
			continue
		}
		if n.state.Busy() {
			working++
		}
		if n.booting {
			booting++
		}
		if n.booting && (n.agent || !isWait(n.state)) {
			h.t.Fatalf("%s boots in %s, agent %v", n.uuid, n.state, n.agent)
		}
	}
	h.peak = max(h.peak, working)
	if truth.Working != working || len(h.w.busy) != working || truth.Booting != booting || truth.PeakWorking < h.peak {
		h.t.Fatalf("truth %+v, but %d work", truth, working)
	}
	if ended := truth.Finished + truth.Failed + truth.Aborted; truth.Started < ended {
		h.t.Fatalf("truth does not add up: %+v", truth)
	}
}

func drawOptions(t *rapid.T) Options {
	o := DefaultOptions()
	o.Seed = rapid.Uint64().Draw(t, "seed")
	o.Fleet.Nodes = rapid.IntRange(1, 12).Draw(t, "nodes")
	o.Fleet.Start = rapid.SampledFrom([]ironic.State{ironic.Enroll, ironic.Manageable, ironic.Available, ironic.Active}).Draw(t, "start")
	o.FastTrack, o.WholeSeconds = rapid.Bool().Draw(t, "fast"), rapid.Bool().Draw(t, "whole seconds")
	o.API.MaxMinor, o.Limit = 82, 3
	o.Fates = Fates{CleanReboot: 0.3, Failing: 0.3, FailTries: 2, FailTargets: []string{"active", "clean", "inspect", "deleted", "rescue"}}
	if rapid.Bool().Draw(t, "crowded") {
		o.Overload = Overload{BootCapacity: 2, CollapseAbove: 4, CollapseChance: 0.5}
	}
	// Nothing takes no time at all, so one look sees one change of a node.
	o.Durations.Handover, o.Durations.InspectRun = Span{Min: s, Max: 2 * s}, Span{Min: s, Max: m}
	return o
}

// TestLawsOverRandomHistories: a node never leaves the table of docs/dev/reference/ironic.md, and the truth is what the
// hosts really did.
func TestLawsOverRandomHistories(t *testing.T) {
	targets := []ironic.Target{"manage", "provide", "clean", "inspect", "active", "rebuild", "deleted", "rescue", "unrescue", "abort", "adopt"}
	fates := []Fate{FateNever, FateFlap, FateFail, FateFailNow, FateVanish, FateAgentLost, FateHeal, FateHeal}
	rapid.Check(t, func(t *rapid.T) {
		w, err := NewWorld(drawOptions(t), t0)
		if err != nil {
			t.Fatal(err)
		}
		h := &history{t: t, w: w, now: t0, known: map[*node]ironic.State{}}
		h.check()
		some := func() string { return rapid.SampledFrom(append(w.Idents(), "nobody")).Draw(t, "node") }
		t.Repeat(map[string]func(*rapid.T){
			"put":     func(t *rapid.T) { w.SetProvision(h.now, some(), rapid.SampledFrom(targets).Draw(t, "target")) },
			"befall":  func(t *rapid.T) { _ = w.Befall(h.now, some(), rapid.SampledFrom(fates).Draw(t, "fate")) },
			"delete":  func(*rapid.T) { w.DeleteNode(h.now, some()) },
			"advance": func(t *rapid.T) { h.advance(time.Duration(rapid.IntRange(1, 4000).Draw(t, "seconds")) * s) },
			"restart": func(t *rapid.T) {
				down := time.Duration(rapid.IntRange(0, 600).Draw(t, "down")) * s
				_ = w.StopConductor(h.now, rapid.IntRange(0, 1).Draw(t, "conductor"), down, rapid.Bool().Draw(t, "killed"))
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
