package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// free are the targets that are never refused, each with a state that it is for.
var free = map[ironic.Target]ironic.State{
	ironic.TargetAbort: ironic.CleanWait, ironic.TargetManage: ironic.Available, ironic.TargetAdopt: ironic.Manageable,
	ironic.TargetUnhold: ironic.DeployHold,
}

func TestAFreeTargetIsNotRefusedForBeingSlow(t *testing.T) {
	for target, state := range free {
		play(t, options{limit: 1, nodes: 2, state: state}, func(s *stage) {
			text := s.putText(0, target)
			head, body, _ := strings.Cut(text, "\r\n\r\n")
			c := s.call(head + "\r\n\r\n" + body[:3])
			<-time.After(maxAge + 2*time.Second)
			c.write(body[3:])
			c.notOurs(string(target))
		})
	}
}

// notOurs wants an answer that Ironic gave.
func (c *caller) notOurs(what string) {
	c.t.Helper()
	resp, body, err := c.answer(http.MethodPut)
	if err != nil {
		c.t.Errorf("%s: %v", what, err)
	} else if strings.Contains(body, "ironic-throttle") || resp.Header.Get(reasonHeader) != "" {
		c.t.Errorf("%s: %s %s", what, resp.Status, body)
	}
}

// A host that holds a slot goes on, whatever the throttle itself can see of its node.
func TestAHeldSlotNeedsNoFetch(t *testing.T) {
	for name, trouble := range map[string]fakeironic.Fault{
		"its own credentials are wrong": {Trouble: fakeironic.Status, Code: 401, Requests: "node"},
		"the fetch takes too long":      {Trouble: fakeironic.Slow, Delay: fetchTimeout + time.Second, Requests: "node"},
		"the fetch breaks":              {Trouble: fakeironic.Refuse, Requests: "node"},
		"the answer is torn":            {Trouble: fakeironic.Torn, Requests: "node"},
	} {
		for _, known := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				play(t, options{limit: 3, nodes: 2, state: ironic.DeployWait}, func(s *stage) {
					idle := s.create("metal3~idle", ironic.Available, "")
					s.letIn()
					if known {
						s.put(0, "nothing").want(http.StatusBadRequest)
						s.do(putRequest(idle, "nothing")).want(http.StatusBadRequest)
					}
					s.fault(trouble)
					s.put(0, ironic.TargetDeleted).want(http.StatusAccepted)
					if got := s.do(putRequest(idle, ironic.TargetActive)); got.Code < 400 {
						t.Errorf("without a slot, and without a fetch: %d", got.Code)
					}
					s.occupied(2)
				})
			})
		}
	}
}

// Ironic is not asked about its client first, unless its body needs room.
func TestAFreeTargetAsksNobody(t *testing.T) {
	play(t, options{limit: 1, nodes: 1, state: ironic.CleanWait}, func(s *stage) {
		path := "/v1/nodes/" + s.uuids[0] + "/states/provision"
		const abort = `{"target": "abort"}`
		long := abort + strings.Repeat(" ", smallBody-len(abort))
		for _, row := range []struct {
			path, body string
			reads      int
		}{{path, abort, 0}, {path + "?target=abort", "", 0}, {path, long, 0}, {path, long + " ", 1}} {
			before := s.asked(http.MethodPut)
			s.do(newRequest(http.MethodPut, row.path, row.body))
			if puts, gets := s.asked(http.MethodPut), s.asked(http.MethodGet); puts != before+1 || gets != row.reads {
				t.Errorf("%d bytes: %d PUTs and %d reads reached Ironic, want 1 and %d", len(row.body), puts-before, gets, row.reads)
			}
		}
		if n := s.gate.Stats(); n.Free != 4 || n.Gated != 0 {
			t.Errorf("%+v", n)
		}
	})
}
