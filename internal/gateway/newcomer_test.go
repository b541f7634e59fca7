package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// unseen makes the next look at a node miss it: it gets its name a moment later.
func (s *stage) unseen() {
	s.Helper()
	s.fault(fakeironic.Fault{Trouble: fakeironic.Status, Code: 404, Requests: "node", Count: 1})
}

// A node that Ironic has only just got works like any other: it takes a slot, if need
// be above the limit.
func TestGW17_ANodeThatIsNewInThatMomentTakesASlot(t *testing.T) {
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
			playWired(t, options{limit: 1, nodes: 3}, cut, func(w *wired) {
				w.gate.access.accept(time.Now(), credentials{})
				for n := range 2 {
					w.unseen()
					c := w.call(w.putText(n, ironic.TargetActive))
					if resp, _, err := c.answer(http.MethodPut); err == nil && (text != "" || resp.StatusCode != http.StatusAccepted) {
						w.Errorf("%s", resp.Status)
					}
					_ = c.Close()
					w.occupied(n + 1)
				}
				w.ask(w.putText(2, ironic.TargetActive), http.StatusConflict, 0)
				w.poll()
				w.occupied(2)
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
		if puts, _ := s.wire.sent(); puts != 2 {
			t.Errorf("%d PUTs reached Ironic", puts)
		}
		// One that was there and is deleted.
		s.put(0, "nothing").want(http.StatusBadRequest)
		s.do(request(http.MethodDelete, "/v1/nodes/"+s.uuids[0], "")).want(http.StatusNoContent)
		s.put(0, ironic.TargetActive).want(http.StatusNotFound)
		s.occupied(0)
	})
}

// It may be gone again before it can be looked at.
func TestGW17_ANewNodeThatCannotBeFoundIsSaid(t *testing.T) {
	log := &journal{}
	play(t, options{limit: 1, nodes: 2, gate: func(o *Options) { o.Log = log.logger() }}, func(s *stage) {
		s.gate.access.accept(time.Now(), credentials{})
		s.fault(fakeironic.Fault{Trouble: fakeironic.Status, Code: 404, Requests: "node"})
		s.put(0, ironic.TargetActive).want(http.StatusAccepted)
		log.want(t, "ERROR", 1, "a node took work and cannot be found", s.uuids[0])
		s.ironic.ClearFault(0)
		s.poll() // sees it at work
		s.occupied(1)
		s.put(1, ironic.TargetActive).refused(api.ReasonFull)
	})
}
