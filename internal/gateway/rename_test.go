package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// rename changes a node's name past the gateway.
func (s *stage) rename(n int, name string) {
	s.Helper()
	body := fmt.Sprintf(`[{"op": "replace", "path": "/name", "value": %q}]`, name)
	if w := s.direct(newRequest(http.MethodPatch, "/v1/nodes/"+s.uuids[n], body)); w.Code != http.StatusOK {
		s.Fatalf("rename: %d %s", w.Code, w.Body)
	}
}

// swap gives the name of the nth node to another one.
func (s *stage) swap(n, other int, name string) {
	s.Helper()
	s.rename(n, "metal3~old")
	s.rename(other, name)
}

// jam takes every place on the way to Ironic; free gives them back.
func (s *stage) jam() (free func()) {
	s.wire.held = make(chan struct{})
	var all sync.WaitGroup
	for range upstreamConns - streamedConns {
		all.Go(func() { s.do(newRequest(http.MethodGet, "/v1/jam", "")) })
	}
	synctest.Wait()
	return func() {
		close(s.wire.held)
		all.Wait()
	}
}

// later sends r and returns where its answer will be.
func (s *stage) later(r *http.Request) <-chan reply {
	answered := make(chan reply, 1)
	go func() { answered <- s.do(r) }()
	synctest.Wait()
	return answered
}

// working are the nodes at work, by Ironic's truth, without those of a list.
func (s *stage) working(but ...int) (nodes []int) {
	for n := range s.uuids {
		if s.state(n).Busy() && !slices.Contains(but, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// A PUT by name waits for a place when the name moves: it starts the node that holds the
// slot, or none.
func TestANameThatMovesWhileItsPUTWaitsStartsNoOtherNode(t *testing.T) {
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprint("known ", known), func(t *testing.T) {
			play(t, options{limit: 1, nodes: 3}, func(s *stage) {
				s.letIn()
				if known {
					s.do(putRequest("metal3~host-a", "nothing")).want(http.StatusBadRequest)
				}
				free := s.jam()
				answered := s.later(putRequest("metal3~host-a", ironic.TargetActive))
				s.occupied(1) // it waits with its slot
				s.swap(0, 1, "metal3~host-a")
				free()
				(<-answered).want(http.StatusAccepted)
				if got := s.working(); !slices.Equal(got, []int{0}) {
					t.Errorf("nodes %d work, want the one of the slot", got)
				}
				s.put(2, ironic.TargetActive).refused(api.ReasonFull)
			})
		})
	}
}

// Whose name it was a minute ago is no reason to let a PUT pass that Ironic cannot be
// asked about.
func TestANameIsNotBelievedWhereIronicCannotBeAsked(t *testing.T) {
	play(t, options{limit: 1, nodes: 2, state: ironic.Manageable}, func(s *stage) {
		s.do(putRequest("metal3~host-a", ironic.TargetInspect)).want(http.StatusAccepted)
		for s.state(0) != ironic.InspectWait {
			s.pass(time.Second)
		}
		s.do(putRequest("metal3~host-a", ironic.TargetInspect)) // known, and holds a slot
		s.swap(0, 1, "metal3~host-a")
		s.letIn()
		mend := s.fault(fakeironic.Fault{Trouble: fakeironic.Refuse, Requests: "node"})
		s.do(putRequest("metal3~host-a", ironic.TargetInspect)).want(http.StatusBadGateway)
		if got := s.working(0); len(got) > 0 {
			t.Errorf("nodes %d work beside the one that holds the slot", got)
		}
		s.put(0, ironic.TargetInspect) // by its UUID it passes: its slot is its own
		mend()
		if puts, _ := s.wire.sent(); puts != 1 {
			t.Errorf("%d more PUTs reached Ironic, want 1", puts)
		}
	})
}

// Of a PUT by name only the name is another text for Ironic.
func TestAPutByNameGoesToTheUUIDAndIsOtherwiseAsItCame(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/nodes/metal3~host-a/states/provision":             "/v1/nodes/UUID/states/provision",
		"/v1/nodes/%6detal3%7Ehost%2Da/states/provision":       "/v1/nodes/UUID/states/provision",
		"//v1//nodes//metal3~host-a//states//provision//":      "//v1//nodes//UUID//states//provision//",
		"/nodes/metal3~host-a/states/provision/active/":        "/nodes/UUID/states/provision/active/",
		"/v1/nodes/metal3~host-a/states/provision.json?x=%zz":  "/v1/nodes/UUID/states/provision.json?x=%zz",
		"/%761%2Fnodes/metal3~host-a%2fstates/pr%6fvision?a=b": "/%761%2Fnodes/UUID%2fstates/pr%6fvision?a=b",
	} {
		play(t, options{limit: 1, nodes: 1}, func(s *stage) {
			r := putRequest("x", ironic.TargetActive)
			r.URL = mustURL(t, "http://gateway:6390"+path)
			s.do(r)
			puts, _ := s.wire.sent()
			if puts != 1 {
				t.Fatalf("%s: %d PUTs", path, puts)
			}
			sent := s.wire.puts[0]
			if got := strings.ReplaceAll(sent.uri, s.uuids[0], "UUID"); got != want {
				t.Errorf("%s becomes %s, want %s", path, got, want)
			}
			if !strings.Contains(path, "/active") && sent.body != `{"target": "active"}` {
				t.Errorf("body %s", sent.body)
			}
		})
	}
}
