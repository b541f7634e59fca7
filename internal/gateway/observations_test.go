package gateway_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// ends lets the work of the nth node end, seen by nobody.
func (s *stage) ends(n int, state ironic.State) {
	s.Helper()
	s.ironic.With(func(now time.Time, w *fakeironic.World) {
		if err := w.SetState(now, s.uuids[n], state, false); err != nil {
			s.Fatal(err)
		}
	})
}

// TestLH13_AnAnswerThatPassesEndsASlot: what Ironic tells the operator of a node whose work
// is over is an observation of it, whenever the next poll may be.
func TestLH13_AnAnswerThatPassesEndsASlot(t *testing.T) {
	document := func(uuid string) *http.Request { return newRequest(http.MethodGet, "/v1/nodes/"+uuid, "") }
	for name, tt := range map[string]struct {
		ask  func(uuid string) *http.Request
		left int // slots that are taken after it
	}{
		"the node": {document, 0},
		"its patch": {func(uuid string) *http.Request {
			return newRequest(http.MethodPatch, "/v1/nodes/"+uuid, `[{"op":"add","path":"/extra/x","value":"y"}]`)
		}, 0},
		"some fields": {func(uuid string) *http.Request {
			return newRequest(http.MethodGet, "/v1/nodes/"+uuid+"?fields=uuid,provision_state", "")
		}, 1},
		"by an old version": {func(uuid string) *http.Request {
			r := document(uuid)
			r.Header.Set(version, "1.45")
			return r
		}, 1},
		"something of it": {func(uuid string) *http.Request { return newRequest(http.MethodGet, "/v1/nodes/"+uuid+"/states", "") }, 1},
		"packed": {func(uuid string) *http.Request {
			r := document(uuid)
			r.Header.Set("X-Test-Pack", "yes")
			return r
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, options{limit: 1, nodes: 1, state: ironic.Manageable, gate: func(o *gateway.Options) { o.Transport = packing{o.Transport} }}, func(s *stage) {
				s.put(0, ironic.TargetInspect).want(202)
				s.pass(5 * time.Second)
				s.occupied(1)
				s.ends(0, ironic.Manageable)
				s.do(tt.ask(s.uuids[0])).want(200)
				s.occupied(tt.left)
				s.pass(5 * time.Second)
				s.occupied(0)
			})
		})
	}
}

// packing is a way to Ironic on which answers are packed for those who say so.
type packing struct{ http.RoundTripper }

func (p packing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.RoundTripper.RoundTrip(r)
	if err == nil && r.Header.Get("X-Test-Pack") != "" {
		resp.Header.Set("Content-Encoding", "br")
	}
	return resp, err
}

// An answer that was begun before the yes ends nothing, however late it comes.
func TestLH13_AnAnswerFromBeforeTheYesEndsNothing(t *testing.T) {
	body := &held{}
	gate := func(o *gateway.Options) { o.Transport = holding{o.Transport, body} }
	play(t, options{limit: 1, nodes: 1, state: ironic.Manageable, gate: gate}, func(s *stage) {
		s.put(0, ironic.TargetInspect).want(202)
		s.pass(5 * time.Second)
		s.ends(0, ironic.Manageable)
		body.read = make(chan struct{})
		answer := s.later(newRequest(http.MethodGet, "/v1/nodes/"+s.uuids[0], ""))
		s.put(0, ironic.TargetInspect).want(202) // meanwhile it begins anew, in the slot that it has
		s.occupied(1)
		close(body.read)
		(<-answer).want(200)
		s.occupied(1)
	})
}

// holding keeps the first GET's answer until it may be read.
type holding struct {
	http.RoundTripper
	first *held
}

type held struct{ read chan struct{} }

func (h holding) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet && h.first.read != nil && r.Header.Get("Via") != "" {
		<-h.first.read
	}
	return resp, err
}
