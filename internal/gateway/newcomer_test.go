package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// unseen makes the next fetch of a node miss it: it gets its name a moment later.
func (s *stage) unseen() {
	s.Helper()
	s.fault(fakeironic.Fault{Trouble: fakeironic.Status, Code: 404, Requests: "node", Count: 1})
}

// A node that Ironic has only just got waits like any other, for a moment.
func TestGW17_ANodeThatIsNewInThatMomentIsAskedForAgain(t *testing.T) {
	play(t, options{limit: 1, nodes: 1}, func(s *stage) {
		s.letIn()
		s.unseen()
		s.put(0, ironic.TargetActive).refused(api.ReasonStarting)
		s.occupied(0)
		if puts, _ := s.wire.sent(); puts != 0 || s.state(0) != ironic.Available {
			t.Errorf("%d PUTs, the node is %s", puts, s.state(0))
		}
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		s.occupied(1)
	})
}

// watching is a limit of which nothing is refused.
func watching(o options) options {
	gate := o.gate
	o.edit = func(c *admission.Config) { c.Mode = admission.Observe }
	o.gate = func(opts *gateway.Options) {
		opts.Observe = func() bool { return true }
		if gate != nil {
			gate(opts)
		}
	}
	return o
}

// In mode observe it is sent all the same, and takes a slot.
func TestGW14_ANodeThatIsNewInThatMomentTakesASlot(t *testing.T) {
	for name, text := range map[string]string{
		"an answer":              "",
		"an answer that is cut":  "HTTP/1.1 202 Accepted\r\nContent-Length: 20\r\n\r\nx",
		"an answer in no length": "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx",
	} {
		t.Run(name, func(t *testing.T) {
			cut := func(fake http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPut || text == "" {
						fake.ServeHTTP(w, r)
						return
					}
					fake.ServeHTTP(httptest.NewRecorder(), r)
					cutWith(w, r, text)
				})
			}
			playWired(t, watching(options{limit: 1, nodes: 2}), cut, func(w *wired) {
				w.letIn()
				for n := range 2 {
					w.unseen()
					c := w.call(w.putText(n, ironic.TargetActive))
					if resp, _, err := c.answer(http.MethodPut); err == nil && (text != "" || resp.StatusCode != http.StatusAccepted) {
						w.Errorf("%s", resp.Status)
					}
					_ = c.Close()
					w.occupied(n + 1)
				}
				w.poll()
				w.occupied(2)
				for n := range 2 { // and their ends give them back
					w.ends(n, ironic.Active)
				}
				w.poll()
				w.occupied(0)
			})
		})
	}
}

// GW-17: what Ironic does not have gets Ironic's own 404, and takes nothing.
func TestGW17_ANodeThatIsNotThereTakesNothing(t *testing.T) {
	play(t, options{limit: 1, nodes: 1}, func(s *stage) {
		for range 2 {
			got := s.do(putRequest("nobody", ironic.TargetActive)).want(http.StatusNotFound)
			if got.Header().Get(reasonHeader) != "" {
				t.Errorf("ours: %s", got.Body)
			}
			s.occupied(0)
		}
		if puts, _ := s.wire.sent(); puts != 0 {
			t.Errorf("%d PUTs reached Ironic: a node could get that name meanwhile", puts)
		}
		// One that was there and is deleted.
		s.put(0, "nothing").want(http.StatusBadRequest)
		s.do(newRequest(http.MethodDelete, "/v1/nodes/"+s.uuids[0], "")).want(http.StatusNoContent)
		s.put(0, ironic.TargetActive).want(http.StatusNotFound)
		s.occupied(0)
	})
}

// It may be gone again before it can be looked at.
func TestGW14_ANewNodeThatCannotBeFoundIsSaid(t *testing.T) {
	log := &journal{}
	play(t, watching(options{limit: 1, nodes: 1, gate: func(o *gateway.Options) { o.Log = log.logger() }}), func(s *stage) {
		s.letIn()
		s.fault(fakeironic.Fault{Trouble: fakeironic.Status, Code: 404, Requests: "node"})
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		log.want(t, "ERROR", 1, "a node took work and cannot be found", s.uuids[0])
		s.ironic.ClearFault(0)
		s.poll()
		s.occupied(0)
		s.ironic.With(func(now time.Time, w *fakeironic.World) {
			if err := w.SetState(now, s.uuids[0], ironic.DeployWait, true); err != nil {
				t.Fatal(err)
			}
		})
		s.poll() // it counts like any node at work that nobody asked for
		s.occupied(1)
	})
}

// A node of which a refusal has told who it is may not be found again at its yes: the same.
func TestGW14_ANodeThatIsMissedAtItsYesTakesASlot(t *testing.T) {
	log := &journal{}
	play(t, watching(options{limit: 1, nodes: 1, gate: func(o *gateway.Options) { o.Log = log.logger() }}), func(s *stage) {
		s.put(0, "nothing").want(http.StatusBadRequest)
		s.occupied(0)
		s.unseen()
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		s.occupied(1)
		log.want(t, "WARN", 1, "a node took work that could not be read before", s.uuids[0], "target=active")
		s.poll()
		s.occupied(1)
		s.ends(0, ironic.Active)
		s.poll()
		s.occupied(0)
	})
}
