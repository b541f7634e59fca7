package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestQueueIsTheDeciders(t *testing.T) {
	whole := exampleQueue()
	total, rack := api.Queue{Pools: whole.Pools[:1]}, api.Queue{Pools: whole.Pools[1:]}
	rack.Pools[0].Tenants, rack.Pools[0].Hosts = []api.TenantQueue{}, []api.QueuedHost{} // never null
	for _, row := range []struct {
		query string
		limit int
		want  api.Queue
	}{
		{"", 100, whole},
		{"?", 100, whole},
		{"?limit=20", 20, whole},
		{"?limit=0", 0, whole},
		{"?limit=1000", 1000, whole},
		{"?pool=", 100, total},
		{"?pool=rack1", 100, rack},
		{"?limit=7&pool=Rack1", 7, rack},
	} {
		f := seen()
		w := send(t, made(t, f).API(), http.MethodGet, "/v1/queue"+row.query, "")
		if diff := cmp.Diff(row.want, decoded[api.Queue](t, w)); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%q: %d\n%s", row.query, w.Code, diff)
		}
		if diff := cmp.Diff([]int{row.limit}, f.limits); diff != "" {
			t.Errorf("%q: limits\n%s", row.query, diff)
		}
	}
}

func TestQueueOfANamespaceAndAReason(t *testing.T) {
	f := seen()
	w := send(t, made(t, f).API(), http.MethodGet, "/v1/queue?namespace=metal3&reason=hold&limit=5&pool=rack1", "")
	if want := (api.QueueQuery{Limit: 5, Namespace: "metal3", Reason: api.ReasonHold, Pool: "rack1", OnePool: true}); w.Code != http.StatusOK || f.query != want {
		t.Errorf("%d, asked for %+v", w.Code, f.query)
	}
}

func TestQueueRefusesWhatItCannotRead(t *testing.T) {
	for _, row := range []struct{ query, field, words string }{
		{"limit=-1", "limit", `limit: "-1" is not a whole number 0..1000`},
		{"limit=1001", "limit", "0..1000"},
		{"limit=", "limit", "0..1000"},
		{"limit=x", "limit", `"x"`},
		{"limit=1.5", "limit", "0..1000"},
		{"limit=99999999999999999999", "limit", "0..1000"},
		{"limit=" + strings.Repeat("9", 1000), "limit", "..."},
		{"limit=%ff", "limit", `"?"`},
		{"limit=1&limit=1", "limit", "is given twice"},
		{"pool=rack1&pool=rack2", "pool", "is given twice"},
		{"pool=rack2", "pool", `pool: "rack2" has no limit of its own, known are rack1`},
		{"Limit=1", "Limit", "known are limit, namespace, pool, reason"},
		{"tenant=metal3", "tenant", "known are limit, namespace, pool, reason"},
		{"reason=ful", "reason", `reason: "ful" is not one of full, turn,`},
		{"limit=%zz", "query", "cannot be read"},
		{"limit=1;pool=x", "query", "cannot be read"},
	} {
		f := seen()
		e := isError(t, send(t, made(t, f).API(), http.MethodGet, "/v1/queue?"+row.query, ""), http.StatusBadRequest, row.field)
		if !strings.Contains(e.Message, row.words) {
			t.Errorf("%.40s: %q, want %q", row.query, e.Message, row.words)
		}
	}
}

func TestQueueListsAreNeverNull(t *testing.T) {
	f := seen()
	for _, f.queue = range []api.Queue{{}, {Pools: []api.PoolQueue{{}}}} {
		if body := send(t, made(t, f).API(), http.MethodGet, "/v1/queue", "").Body.String(); strings.Contains(body, "null") {
			t.Error(body)
		}
	}
}
