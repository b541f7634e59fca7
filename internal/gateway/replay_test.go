package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// net/http sends a request again when a kept connection breaks before the answer and
// the request says that this is no harm. For Ironic it is: the second PUT meets the
// lock of the first, and its 409 would end the slot of a host that works.
func TestNothingIsSentTwiceWhenAConnectionBreaks(t *testing.T) {
	var changes atomic.Int32
	breaks := func(fake http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				fake.ServeHTTP(w, r)
				return
			}
			changes.Add(1)
			fake.ServeHTTP(httptest.NewRecorder(), r) // it is done
			cutWith(w, r, "")
		})
	}
	for _, field := range []string{"X-None: 1", "Idempotency-Key: 1", "x-idempotency-key: 1"} {
		for what, text := range map[string]func(s *stage) string{
			"a PUT": func(s *stage) string { return s.putText(0, ironic.TargetActive, field) },
			"a PUT without a body": func(s *stage) string {
				return requestText(http.MethodPut, s.provision(0)+"?target=active", 0, "", field)
			},
			"a DELETE": func(s *stage) string { return requestText(http.MethodDelete, "/v1/nodes/"+s.uuids[0], -1, "", field) },
		} {
			changes.Store(0)
			play(t, options{limit: 1, nodes: 1, behind: breaks}, func(s *stage) {
				s.ask(getText("/v1/nodes"), http.StatusOK, 0)
				s.ask(text(s), http.StatusBadGateway, 0)
				if dials := s.back.dialed.Load(); dials != 1 || changes.Load() != 1 {
					t.Errorf("%s with %s: sent %d times, %d connections; want once, on the one that was kept", what, field, changes.Load(), dials)
				}
				s.occupied(map[bool]int{false: 1}[what == "a DELETE"])
			})
		}
	}
}
