package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// queue answers GET /v1/queue.
func (s *Server) queue(w http.ResponseWriter, r *http.Request) {
	want, bad := parseQueueQuery(r.URL.RawQuery)
	if bad != nil {
		writeError(w, http.StatusBadRequest, bad.Field, bad.Error())
		return
	}
	var q api.Queue
	if s.gentle.do(r.Context(), func() { q = s.decider.QueueOf(s.now(), want.QueueQuery) }) != nil {
		return // nobody waits for it any more
	}
	if want.one {
		i := slices.IndexFunc(q.Pools, func(p api.PoolQueue) bool { return p.Pool == want.pool })
		if i < 0 {
			bad := api.FieldError{Field: "pool", Value: shown(want.pool), Rule: "has no queue of its own, only " + poolNames(q)}
			writeError(w, http.StatusBadRequest, bad.Field, bad.Error())
			return
		}
		q.Pools = q.Pools[i : i+1]
	}
	writeJSON(w, http.StatusOK, withoutNulls(q))
}

// queueQuery is what GET /v1/queue may be asked for.
type queueQuery struct {
	api.QueueQuery
	pool string // the one that is wanted, if one is
	one  bool
}

// parseQueueQuery refuses what it does not know, as the ask does: a misspelt
// parameter would show something else than was meant.
func parseQueueQuery(raw string) (queueQuery, *api.FieldError) {
	q := queueQuery{QueueQuery: api.QueueQuery{Limit: queueRows}}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, &api.FieldError{Field: "query", Rule: "cannot be read"}
	}
	for name, all := range values {
		switch {
		case !slices.Contains(queueParameters, name):
			return q, &api.FieldError{Field: shown(name), Rule: "is not a parameter: known are " + strings.Join(queueParameters, ", ")}
		case len(all) > 1:
			return q, &api.FieldError{Field: name, Rule: "is given twice"}
		}
	}
	if values.Has("limit") {
		text := values.Get("limit")
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxQueueRows {
			return q, &api.FieldError{Field: "limit", Value: shown(text), Rule: fmt.Sprintf("is not a whole number 0..%d", maxQueueRows)}
		}
		q.Limit = n
	}
	q.Namespace, q.Reason = values.Get("namespace"), api.Reason(values.Get("reason"))
	if values.Has("reason") && !slices.Contains(api.Reasons(), q.Reason) {
		return q, &api.FieldError{Field: "reason", Value: shown(string(q.Reason)), Rule: "is not one of " + reasonWords()}
	}
	// Ironic folds the case of conductor groups.
	q.pool, q.one = strings.ToLower(values.Get("pool")), values.Has("pool")
	return q, nil
}

var queueParameters = []string{"limit", "namespace", "pool", "reason"}

// reasonWords lists the reasons of a no.
func reasonWords() string {
	var words []string
	for _, r := range api.Reasons() {
		if !r.Yes() {
			words = append(words, string(r))
		}
	}
	return strings.Join(words, ", ")
}

// shown is at most a line of somebody's text.
func shown(text string) string {
	const most = 64
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}

func poolNames(q api.Queue) string {
	var names []string
	for _, p := range q.Pools {
		names = append(names, strconv.Quote(p.Pool))
	}
	return strings.Join(names, ", ")
}

// withoutNulls makes every list one in the JSON.
func withoutNulls(q api.Queue) api.Queue {
	pools := make([]api.PoolQueue, 0, len(q.Pools))
	for _, p := range q.Pools {
		if p.Tenants == nil {
			p.Tenants = []api.TenantQueue{}
		}
		if p.Hosts == nil {
			p.Hosts = []api.QueuedHost{}
		}
		pools = append(pools, p)
	}
	return api.Queue{Pools: pools}
}
