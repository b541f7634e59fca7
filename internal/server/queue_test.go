package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestQueueIsTheDeciders(t *testing.T) {
	for _, row := range []struct {
		query string
		want  api.QueueQuery
		pools []string
	}{
		{"", api.QueueQuery{Limit: 100}, []string{"", "rack1"}},
		{"?limit=0", api.QueueQuery{}, []string{"", "rack1"}},
		{"?pool=", api.QueueQuery{Limit: 100, OnePool: true}, []string{""}},
		{"?limit=7&pool=Rack1", api.QueueQuery{Limit: 7, Pool: "rack1", OnePool: true}, []string{"rack1"}},
		{"?namespace=metal3&reason=hold", api.QueueQuery{Limit: 100, Namespace: "metal3", Reason: api.ReasonHold}, []string{"", "rack1"}},
	} {
		f := seen()
		w := send(t, made(t, f).API(), http.MethodGet, "/v1/queue"+row.query, "")
		if body := w.Body.String(); w.Code != http.StatusOK || strings.Contains(body, "null") {
			t.Fatalf("%q: %d %s", row.query, w.Code, body)
		}
		var pools []string
		for _, p := range decoded[api.Queue](t, w).Pools {
			pools = append(pools, p.Pool)
		}
		if !slices.Equal(f.queries, []api.QueueQuery{row.want}) || !slices.Equal(pools, row.pools) {
			t.Errorf("%q: asked for %+v, got pools %q", row.query, f.queries, pools)
		}
	}
}

func TestQueueRefusesWhatItCannotRead(t *testing.T) {
	for _, row := range []struct{ query, field, words string }{
		{"limit=-1", "limit", `limit: "-1" is not a whole number 0..1000`},
		{"limit=1001", "limit", "0..1000"},
		{"limit=" + strings.Repeat("9", 1000), "limit", "..."},
		{"limit=%ff", "limit", `"?"`},
		{"limit=1&limit=1", "limit", "is given twice"},
		{"pool=rack2", "pool", `pool: "rack2" has no limit of its own`},
		{"Limit=1", "Limit", "known are limit, namespace, pool, reason"},
		{"reason=ful", "reason", `reason: "ful" is not one of full, turn,`},
		{"limit=%zz", "query", "cannot be read"},
		{"=1", "query", "is not a parameter"},
	} {
		e := isError(t, send(t, made(t, seen()).API(), http.MethodGet, "/v1/queue?"+row.query, ""), http.StatusBadRequest, row.field)
		if !strings.Contains(e.Message, row.words) {
			t.Errorf("%.40s: %q, want %q", row.query, e.Message, row.words)
		}
	}
}
