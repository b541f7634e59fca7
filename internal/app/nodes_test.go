package app

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// A host that a poll has never shown is found in the list of all nodes, which is read only
// when more invented ones ask than are kept.
func TestInventedHostsArePrunedByTheListOfAllNodes(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.pass(2 * time.Minute) // it has settled
		ask := func(namespace, name string) api.Answer {
			return s.app.controller.IsReady(time.Now(), api.Ask{Namespace: namespace, Name: name, Op: api.OpProvision})
		}
		for i := range slots.MaxUnknown {
			ask("junk", fmt.Sprint("host-", i))
		}
		if n := s.app.list.Inventory.Stats().Builds; n != 0 {
			s.Errorf("%d lists of all nodes were read before anybody needed one", n)
		}
		const namespace, name = "ns-01", "host-00001"
		if a := ask(namespace, name); a.Ready || a.Reason != api.ReasonStarting {
			s.Errorf("before the list: %+v", a)
		}
		s.pass(time.Second)
		if a := ask(namespace, name); a.Reason == api.ReasonStarting {
			s.Errorf("after the list: %+v", a)
		}
		if a := ask("junk", "one-more"); a.Reason != api.ReasonStarting {
			s.Errorf("an invented host: %+v", a)
		}
		if n := s.app.controller.Status(time.Now()).Slots.Total.Waiting; n > 1 {
			s.Errorf("%d hosts wait, want the real one at most", n)
		}
		if n := s.log.count("so many hosts ask"); n != 1 {
			s.Errorf("%d lines of the log, want 1", n)
		}
	})
}
