package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func TestGW17_RefusalsUseTheCacheAndAYesOneFetch(t *testing.T) {
	play(t, options{limit: 1, nodes: 2}, func(s *stage) {
		s.letIn()
		fetches := func() int { return s.ironic.Truth().Requests.Nodes }
		before := fetches()
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		if n := fetches() - before; n != 1 {
			t.Errorf("a yes for an unknown node took %d fetches, want 1", n)
		}
		before = fetches()
		for range 10 {
			s.put(1, ironic.TargetActive).refused(api.ReasonFull)
			<-time.After(3 * time.Second)
		}
		if n := fetches() - before; n != 1 {
			t.Errorf("ten refusals in half a minute took %d fetches, want 1", n)
		}
		s.pass(time.Second)
		before = fetches()
		s.put(0, ironic.TargetDeleted) // known, holds its slot
		if n := fetches() - before; n != 1 {
			t.Errorf("a yes for a known node took %d fetches, want 1", n)
		}
	})
}

func TestLH25_NameAndUUIDAreOneHost(t *testing.T) {
	play(t, options{limit: 1, nodes: 2}, func(s *stage) {
		s.do(putRequest("metal3~host-a", ironic.TargetActive)).want(http.StatusAccepted)
		s.occupied(1)
		s.do(putRequest("metal3%7Ehost-a", ironic.TargetActive)).want(http.StatusConflict) // locked, says Ironic
		s.put(0, ironic.TargetActive).want(http.StatusConflict)
		if puts, _ := s.wire.sent(); puts != 3 {
			t.Errorf("%d PUTs reached Ironic, want 3: it is the host that holds the slot", puts)
		}
		s.occupied(1)
		answer := s.controller.IsReady(time.Now(), api.Ask{Namespace: "metal3", Name: "host-a", NodeUUID: s.uuids[0], Op: api.OpProvision})
		if answer.Reason != api.ReasonHeldSlot {
			t.Errorf("by check it is %s", answer.Reason)
		}
	})
}

func TestLH35_ThePoolIsTheOneThatIronicTells(t *testing.T) {
	groups := func(c *admission.Config) { c.Slots.Groups = map[string]int{"rack1": 1} }
	play(t, options{limit: 5, nodes: 2, group: "rack1", edit: groups}, func(s *stage) {
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		s.put(1, ironic.TargetActive).refused(api.ReasonFull)
	})
}

// An Ironic that goes away in that moment is what the client is told of, once.
func TestGW9_AnIronicThatCannotShowTheNodeIsItsAbsence(t *testing.T) {
	play(t, options{limit: 1, nodes: 1}, func(s *stage) {
		s.letIn()
		s.unseen()
		s.wire.away.Store(true)
		got := s.put(0, ironic.TargetActive).want(http.StatusBadGateway)
		if _, text := got.fault(); !strings.Contains(text, "Ironic cannot be reached") || got.Header().Get(reasonHeader) != "" {
			t.Errorf("%q, %v", text, got.Header())
		}
		s.occupied(0)
	})
}
