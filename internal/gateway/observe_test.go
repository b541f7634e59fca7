package gateway_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// What only watches refuses neither for size nor for slowness.
func TestGW14_ObserveLetsLargeAndSlowBodiesPass(t *testing.T) {
	observe := options{
		limit: 1, nodes: 2,
		edit: func(c *admission.Config) { c.Mode = admission.Observe },
		gate: func(o *gateway.Options) { o.Observe = true },
	}
	var length int
	measure := func(fake http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut {
				fake.ServeHTTP(w, r)
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil || r.ContentLength != int64(len(body)) {
				t.Errorf("%d of %d bytes, %v", len(body), r.ContentLength, err)
			}
			length = len(body)
			w.WriteHeader(http.StatusAccepted)
		})
	}
	playWired(t, observe, measure, func(w *wired) {
		body := tooMuch()
		w.ask(requestText(http.MethodPut, w.provision(0), len(body), body), http.StatusAccepted, 0)
		if length != len(body) {
			w.Errorf("%d bytes of %d", length, len(body))
		}
		for _, body := range []string{`{"target": "active"}`, body} {
			c := w.call(requestText(http.MethodPut, w.provision(1), len(body), body[:2]))
			<-time.After(2 * maxAge)
			c.write(body[2:])
			c.want(http.StatusAccepted, 0)
			if length != len(body) {
				w.Errorf("%d slow bytes of %d", length, len(body))
			}
		}
		if got := w.gate.Stats(); got.Refused != 0 {
			w.Errorf("%d refused", got.Refused)
		}
	})
}

// What only watches does not refuse where Ironic hangs: its absence is the answer.
func TestGW14_ObserveDoesNotRefuseForASlowIronic(t *testing.T) {
	edit := func(c *admission.Config) { c.Mode = admission.Observe }
	gate := func(o *gateway.Options) { o.Observe = true }
	for _, requests := range []string{"node", "put"} {
		for _, known := range []bool{false, true} {
			play(t, options{limit: 1, nodes: 2, edit: edit, gate: gate}, func(s *stage) {
				if known {
					s.letIn()
				}
				s.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: time.Hour, Requests: requests})
				got := s.put(0, ironic.TargetActive)
				if got.Code == http.StatusConflict || got.Header().Get(reasonHeader) != "" || s.gate.Stats().Refused != 0 {
					s.Errorf("%s, known %v: refused: %d %s", requests, known, got.Code, got.Body)
				}
			})
		}
	}
}
