package ironic

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// slowWire is a wire each of whose lists takes a second. It notes when which was asked for.
func slowWire(asked map[State][]time.Duration, nodes ...map[string]any) *wire {
	var mu sync.Mutex
	begun := time.Now()
	w := newWire(nodes...)
	w.before = func(_ int, r *http.Request) (*http.Response, error) {
		state := State(r.URL.Query().Get("provision_state"))
		if state == "" {
			return nil, nil
		}
		mu.Lock()
		asked[state] = append(asked[state], time.Since(begun))
		mu.Unlock()
		select {
		case <-time.After(time.Second):
			return nil, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return w
}

// A poll of a slow Ironic takes as long as the longest row of lists, not as all of them:
// what a node passes through is read in that order, everything else side by side.
func TestLH36_KindsOfWorkAreReadSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[State][]time.Duration{}
		v := &view{}
		w := slowWire(asked, row("a", Deploying), row("b", CleanWait), row("c", InspectWait))
		p := poller(t, client(t, w), v, func(o *PollerOptions) { o.AtOnce = 0 })
		begun := time.Now()
		if err := p.PollOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 4*time.Second {
			t.Errorf("13 lists of a second each took %v, want 4s", took)
		}
		want := map[State][]time.Duration{
			Deleting: seconds(0), Cleaning: seconds(1, 3), CleanWait: seconds(2), Inspecting: seconds(0), InspectWait: seconds(1),
			Deploying: seconds(0, 2), DeployWait: seconds(1), Rescuing: seconds(0, 2), RescueWait: seconds(1), Unrescuing: seconds(2),
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("when the lists were read (-want +got):\n%s", diff)
		}
		var order []string
		for _, n := range v.last(t).Nodes {
			order = append(order, n.UUID)
		}
		slices.Sort(order)
		if diff := cmp.Diff([]string{"a", "b", "c"}, order); diff != "" {
			t.Errorf("nodes (-want +got):\n%s", diff)
		}
	})
}

// One list that fails ends the poll; the others that are on their way are cut off.
func TestLH24_AListThatFailsEndsThoseBesideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[State][]time.Duration{}
		v := &view{}
		w := slowWire(asked)
		slow := w.before
		w.before = func(n int, r *http.Request) (*http.Response, error) {
			if State(r.URL.Query().Get("provision_state")) == Deploying {
				return nil, errors.New("reset")
			}
			return slow(n, r)
		}
		begun := time.Now()
		err := poller(t, client(t, w), v, func(o *PollerOptions) { o.AtOnce = 0 }).PollOnce(t.Context())
		if CauseOf(err) != CauseUnreachable || len(v.polls) != 0 || time.Since(begun) != 0 {
			t.Errorf("%v after %v, %d polls", err, time.Since(begun), len(v.polls))
		}
	})
}
