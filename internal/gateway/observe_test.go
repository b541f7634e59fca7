package gateway_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
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
		gate: func(o *gateway.Options) { o.Observe = func() bool { return true } },
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
	gate := func(o *gateway.Options) { o.Observe = func() bool { return true } }
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

// Up to the cap it is looked into and counted; a byte more, and it passes unread.
func TestGW14_ObserveCountsWhatEnforceWouldTakeIn(t *testing.T) {
	const most = 1<<20 + beside
	for size, gated := range map[int]uint64{most - 1: 1, most: 1, most + 1: 0} {
		play(t, watching(options{limit: 1, nodes: 1}), func(s *stage) {
			s.letIn()
			const frame = `{"configdrive": "", "target": "active"}`
			body := strings.Replace(frame, `""`, `"`+strings.Repeat("x", size-len(frame))+`"`, 1)
			s.do(newRequest(http.MethodPut, "/v1/nodes/"+s.uuids[0]+"/states/provision", body)).want(http.StatusAccepted)
			if got := s.gate.Stats().Gated; got != gated || len(body) != size {
				s.Errorf("%d bytes: %d gated, want %d", len(body), got, gated)
			}
		})
	}
}

// A body that finds no room passes unread, when it has waited for as long as a request may; one that comes that late is
// not too late; one that does not come at all fails as it would without a gate.
func TestGW14_ObserveRefusesNoBody(t *testing.T) {
	tight := func(o *gateway.Options) { o.SpoolLimit = o.MaxBody }
	playWired(t, watching(options{limit: 1, nodes: 3, gate: tight}), nil, func(w *wired) {
		w.letIn()
		large := `{"configdrive": "` + strings.Repeat("x", 1<<20) + `", "target": "active"}`
		begun := func(n int, body string) *caller {
			return w.call(requestText(http.MethodPut, w.provision(n), len(body), body[:2]))
		}
		never := begun(0, large) // has the room
		<-time.After(time.Second)
		waits, slow := begun(1, large), begun(2, active)
		<-time.After(timeout + time.Second)
		waits.write(large[2:])
		waits.want(http.StatusAccepted, 0)
		slow.write(active[2:])
		slow.want(http.StatusAccepted, 0)
		never.want(http.StatusBadRequest, graceTimeout)
		if got := w.gate.Stats(); got.Refused != 0 || got.Failed != 0 {
			w.Errorf("%d refused, %d failures of Ironic's", got.Refused, got.Failed)
		}
		if got := w.working(); !slices.Equal(got, []int{1, 2}) {
			w.Errorf("nodes %d work, want 1 and 2", got)
		}
	})
}

// One that waits for its turn as long as a request may gets the answer that it would get without a gate.
func TestGW14_ObserveIsNoMorePatientThanAnyOther(t *testing.T) {
	playWired(t, watching(options{limit: 1, nodes: 1}), nil, func(w *wired) {
		w.letIn()
		w.dialSlowly(timeout + time.Second)
		got := w.ask(w.putText(0, ironic.TargetActive), http.StatusGatewayTimeout, timeout)
		if why := got.Header.Get(reasonHeader); why != "" || w.gate.Stats().Refused != 0 {
			w.Errorf("refused for %q", why)
		}
		w.notSent()
	})
}
