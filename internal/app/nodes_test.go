package app

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Anybody can invent names: of hosts that nobody has shown a bounded number is kept, and no list is read for more.
func TestInventedHostsAreBounded(t *testing.T) {
	play(t, nil, func(s *stage) {
		s.pass(2 * time.Minute) // it has settled
		ask := func(name string) api.Answer {
			return s.app.controller.IsReady(time.Now(), api.Ask{Namespace: "junk", Name: name, Op: api.OpProvision})
		}
		for i := range slots.MaxUnknown {
			ask(fmt.Sprint("host-", i))
		}
		a := ask("one-more")
		if a.Ready || a.Reason != api.ReasonStarting || !strings.Contains(a.Message, fmt.Sprint(slots.MaxUnknown, " such hosts")) {
			s.Errorf("one more: %+v", a)
		}
		if a := ask("host-0"); a.Reason == api.ReasonStarting && strings.Contains(a.Message, "such hosts") {
			s.Errorf("one that asked before: %+v", a)
		}
		s.pass(time.Minute)
		if n := s.app.nodes.Stats().Lists; n != 0 {
			s.Errorf("%d lists of all nodes were read", n)
		}
	})
}
