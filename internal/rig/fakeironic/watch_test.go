package fakeironic_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestWatchHearsWhoWorksAndWhen(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	o := fakeironic.DefaultOptions()
	o.Fleet.Nodes = 2
	w, err := fakeironic.NewWorld(o, start)
	if err != nil {
		t.Fatal(err)
	}
	ids := w.Idents()
	var heard []string
	working := 0
	w.Watch(func(at time.Time, uuid string, works bool) {
		who := 0
		if uuid == ids[1] {
			who = 1
		}
		heard = append(heard, fmt.Sprintf("%d %v", who, works))
		if works {
			working++
		} else {
			working--
		}
		if at.Before(start) {
			t.Errorf("heard of %v, before the beginning", at)
		}
	})
	w.SetProvision(start, ids[1], ironic.TargetActive)
	if got := w.Truth(start).Working; got != working {
		t.Errorf("%d work, %d were heard of", got, working)
	}
	w.Advance(start.Add(2 * time.Hour))
	if diff := cmp.Diff([]string{"1 true", "1 false"}, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

func TestCountIsWhatAPageShows(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	o := fakeironic.DefaultOptions()
	o.Fleet.Nodes = 30
	w, err := fakeironic.NewWorld(o, now)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range w.Idents() {
		if i%3 > 0 {
			w.SetProvision(now, id, ironic.TargetActive)
			now = now.Add(10 * time.Second)
		}
	}
	agents := 0
	for range 40 {
		now = now.Add(30 * time.Second)
		for _, first := range []int{0, 1, 10, 30, 99} {
			var busy, agent int
			page, _, _ := w.List(now, fakeironic.Query{Limit: max(1, first)})
			for _, n := range page[:min(first, len(page))] {
				if n.State.Busy() {
					busy++
					if n.AgentURL {
						agent++
					}
				}
			}
			got := [2]int{w.Count(now, first, ironic.BusyStates(), false), w.Count(now, first, ironic.BusyStates(), true)}
			if want := [2]int{busy, agent}; got != want {
				t.Fatalf("at %v, first %d: counted %v, a page shows %v", now, first, got, want)
			}
			agents += agent
		}
	}
	if agents == 0 {
		t.Error("no agent was ever there to be counted")
	}
}
