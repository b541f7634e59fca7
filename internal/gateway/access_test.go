package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// A client that Ironic does not let in gets Ironic's own 401, no slot, and no place
// in the queue.
func TestWhoIsNotLetInGetsNothing(t *testing.T) {
	basic := func(o *fakeironic.Options) { o.API.Username, o.API.Password = "admin", "secret" }
	play(t, options{limit: 1, nodes: 2, fake: basic}, func(s *stage) {
		tried := 0
		large := `{"target": "active", "configdrive": "` + strings.Repeat("x", 8<<10) + `"}`
		for _, password := range []string{"", "wrong", "", "wrong"} {
			r := putRequest(s.uuids[0], ironic.TargetActive)
			if tried++; tried > 2 { // whose body is not read for them
				r = newRequest(http.MethodPut, r.URL.Path, large)
			}
			if password != "" {
				r.SetBasicAuth("admin", password)
			}
			read := newRequest(http.MethodGet, "/v1/nodes/"+s.uuids[0], "")
			read.Header = r.Header.Clone()
			own := httptest.NewRecorder()
			s.ironic.ServeHTTP(own, read)
			got := s.do(r).want(http.StatusUnauthorized)
			if got.Header().Get("Www-Authenticate") == "" || got.Body.String() != own.Body.String() {
				t.Errorf("not Ironic's own answer: %v %s", got.Header(), got.Body)
			}
		}
		slots := s.controller.Status(time.Now()).Slots.Total
		if gated := s.gate.Stats().Gated; slots.Occupied != 0 || slots.Waiting != 0 || gated != 0 {
			t.Errorf("%d gated, %+v", gated, slots)
		}
		// The throttle has no credentials of its own here, so it sees nothing.
		r := putRequest(s.uuids[0], ironic.TargetActive)
		r.SetBasicAuth("admin", "secret")
		s.do(r).want(http.StatusBadGateway)
	})
}
