package gateway_test

import (
	"cmp"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Whose node a refused PUT means is told by the list of all nodes, where that is there.
func TestGW17_TheListTellsWhoIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := full(t, labOptions{})
		defer l.close()
		l.do(get(capacityPath))
		l.wire.count()
		l.refuse(1)
		l.do(named(putRequest("ns-01~host-00004", ironic.TargetActive)))
		if n := l.wire.counts("GET /v1/nodes/"); n != 0 {
			t.Errorf("two refusals took %d fetches at nodes, want none: %v", n, l.wire.asks)
		}
		l.pass(61 * time.Second) // it is too old to be believed, and nobody asked for another
		l.poll()
		l.do(get("/v1/nodes/" + l.uuids[2])) // Ironic lets the client in, and is not asked about it
		l.wire.count()
		l.refuse(1)
		if n := l.wire.counts("GET /v1/nodes/" + l.uuids[1]); n != 1 {
			t.Errorf("%d fetches for a refusal by a list that is too old, want 1", n)
		}
	})
}

// Where pools have limits the list does not place a host: a fetch of its own does, in the
// PUT that needs it.
func TestGW17_AListedHostGetsItsYesWithTheFirstPUT(t *testing.T) {
	for name, edit := range map[string]func(*admission.Config){
		"groups":        func(c *admission.Config) { c.Slots.Groups = map[string]int{"rack-1": 50} },
		"virtual media": func(c *admission.Config) { c.Slots.VirtualMedia = 50 },
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, labOptions{limit: 50, edit: edit, fake: func(o *fakeironic.Options) {
				fleet(20, 1000)(o)
				o.Fleet.VirtualMedia = 0
			}})
			defer l.close()
			l.settle()
			l.do(get(capacityPath))
			l.wire.count()
			for _, uuid := range l.uuids {
				if got := l.do(named(putRequest(uuid, ironic.TargetActive))); got.Code != http.StatusAccepted {
					t.Errorf("%s: %d %s", name, got.Code, got.Header().Get(reasonHeader))
				}
			}
			if n := l.wire.counts("GET /v1/nodes/"); n != len(l.uuids) {
				t.Errorf("%s: %d fetches for %d yeses", name, n, len(l.uuids))
			}
		})
	}
}

// As long as nobody gets a yes, a host costs one fetch in startingGap, not one for each PUT.
func TestGW17_WhoMustWaitForTheStartIsSeldomFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, labOptions{limit: 50, fake: fleet(2, 1000)})
		defer l.close()
		l.poll()
		l.do(get(capacityPath))
		l.wire.count()
		for range 20 {
			if got := l.do(named(putRequest(l.uuids[0], ironic.TargetActive))); got.Code != http.StatusConflict {
				t.Fatalf("%d %s", got.Code, got.Body)
			}
			l.pass(time.Second)
		}
		if n := l.wire.counts("GET /v1/nodes/"); n != 2 {
			t.Errorf("%d fetches in 20 s, want 2", n)
		}
	})
}

// A node that came after the list is not in it: it is fetched, and is itself.
func TestGW17_WhoIsNotInTheListIsFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := full(t, labOptions{})
		defer l.close()
		l.do(get(capacityPath))
		for _, ident := range []string{"", "ns-09~new"} {
			var uuid string
			l.with(func(now time.Time, w *fakeironic.World) (err error) {
				uuid, err = w.CreateNode(now, fakeironic.NodeSpec{Name: ident, State: ironic.Available})
				return err
			})
			ident = cmp.Or(ident, uuid)
			l.wire.count()
			if got := l.do(named(putRequest(ident, ironic.TargetActive))); got.Code != http.StatusConflict {
				t.Fatalf("%s: %d %s", ident, got.Code, got.Body)
			}
			if n := l.wire.counts("GET /v1/nodes/" + ident); n != 1 {
				t.Errorf("%s: %d fetches of a node that no list shows, want 1: %v", ident, n, l.wire.asks)
			}
			if waits, _ := l.controller.Stands(l.now(), "", "", uuid); !waits {
				t.Errorf("%s: its host is not in the queue", ident)
			}
		}
	})
}
