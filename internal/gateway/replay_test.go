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
	for _, row := range []struct {
		name  string
		text  func(w *wired, field string) string
		slots int
	}{
		{"a PUT", func(w *wired, field string) string { return w.putText(0, ironic.TargetActive, field) }, 1},
		{"a PUT without a body", func(w *wired, field string) string {
			return requestText(http.MethodPut, w.provision(0)+"?target=active", 0, "", field)
		}, 1},
		{"a POST", func(_ *wired, field string) string {
			return requestText(http.MethodPost, "/v1/nodes", 2, "{}", field)
		}, 0},
		{"a PATCH", func(w *wired, field string) string {
			return requestText(http.MethodPatch, "/v1/nodes/"+w.uuids[0], 2, "[]", field)
		}, 0},
		{"a DELETE", func(w *wired, field string) string {
			return requestText(http.MethodDelete, "/v1/nodes/"+w.uuids[0], -1, "", field)
		}, 0},
	} {
		for _, field := range []string{"X-None: 1", "Idempotency-Key: 1", "x-idempotency-key: 1", "Idempotency_Key: 1"} {
			changes.Store(0)
			playWired(t, options{limit: 1, nodes: 1}, breaks, func(w *wired) {
				w.ask(getText("/v1/nodes"), http.StatusOK, 0)
				w.ask(row.text(w, field), http.StatusBadGateway, 0)
				if dials := w.back.dialed.Load(); dials != 1 || changes.Load() != 1 {
					t.Errorf("%s with %s: sent %d times, %d connections; want once, on the one that was kept",
						row.name, field, changes.Load(), dials)
				}
				w.occupied(row.slots)
			})
		}
	}
}
