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
