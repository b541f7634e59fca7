package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestCB29_ABreakerIsForSomebody: a scope in which there is no host is unknown; one whose
// hosts do nothing and have never asked is not.
func TestCB29_ABreakerIsForSomebody(t *testing.T) {
	play(t, func(o *Options, fake *fakeironic.Server) {
		o.Config.Breaker.Scopes = append(o.Config.Breaker.Scopes, "driver")
		fake.With(func(now time.Time, w *fakeironic.World) {
			for _, group := range []string{"rack1", "rack2"} {
				if _, err := w.CreateNode(now, fakeironic.NodeSpec{State: ironic.Available, ConductorGroup: group}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}, func(s *stage) {
		trip := func(scope string, code int, words string) {
			s.Helper()
			r := httptest.NewRequest(http.MethodPost, "/v1/breakers/"+scope+"/trip", nil)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.app.server.API().ServeHTTP(w, r)
			if w.Code != code || !strings.Contains(w.Body.String(), words) {
				s.Errorf("%s: %d %s, want %d %q", scope, w.Code, w.Body, code, words)
			}
		}
		s.pass(70 * time.Second)
		before := s.app.IronicStats().Requests()
		trip("ironic", 200, "")
		if asked := s.app.IronicStats().Requests() - before; asked > 0 {
			s.Errorf("Ironic was asked %d times for all of it", asked)
		}
		trip("group:rack1", 200, "group:rack1 is OPEN")
		trip("group:default", 200, "group:default is OPEN")
		trip("driver:fake-hardware", 200, "driver:fake-hardware is OPEN")
		trip("group:rakc2", 404, "group:rakc2 is unknown: Ironic has no node of it; did you mean group:rack2?") // which has never worked
		trip("driver:fake-hardwear", 404, "did you mean driver:fake-hardware?")
		if _, err := s.ironic.AddFault(fakeironic.Fault{Trouble: fakeironic.Refuse}); err != nil {
			s.Fatal(err)
		}
		trip("group:rack1", 200, "group:rack1 is OPEN")
		trip("group:rack2", 503, "Ironic, which may have nodes of it, cannot be asked")
	})
}
