package server

import (
	"cmp"
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
	want, err := parseQueueQuery(r.URL.RawQuery)
	if err != nil {
		writeBadRequest(w, err)
		return
	}
	var q api.Queue
	if s.gentle.do(r.Context(), func() { q = s.opts.Decider.QueueOf(s.opts.Now(), want) }) != nil {
		return // the client is gone
	}
	if want.Pool != nil {
		i := slices.IndexFunc(q.Pools, func(p api.PoolQueue) bool { return p.Pool == *want.Pool })
		if i < 0 {
			writeBadRequest(w, &api.FieldError{Field: "pool", Value: shown(*want.Pool), Rule: "has no limit of its own"})
			return
		}
		q.Pools = q.Pools[i : i+1]
	}
	writeJSON(w, http.StatusOK, q)
}

// parseQueueQuery reads the query of GET /v1/queue. It refuses unknown parameters: a misspelt one would show other
// hosts than the client meant. The error is an *api.FieldError.
func parseQueueQuery(raw string) (q api.QueueQuery, err error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, &api.FieldError{Field: "query", Rule: "cannot be read"}
	}
	for name, all := range values {
		switch {
		case !slices.Contains(queueParameters, name):
			rule := "is not a parameter: known are " + strings.Join(queueParameters, ", ")
			return q, &api.FieldError{Field: cmp.Or(shown(name), "query"), Rule: rule}
		case len(all) > 1:
			return q, &api.FieldError{Field: name, Rule: "is given twice"}
		}
	}
	q = api.QueueQuery{Limit: queueRows, Namespace: values.Get("namespace"), Reason: api.Reason(values.Get("reason"))}
	if values.Has("limit") {
		text := values.Get("limit")
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 0 || q.Limit > maxQueueRows {
			return q, &api.FieldError{Field: "limit", Value: shown(text), Rule: fmt.Sprintf("is not a whole number 0..%d", maxQueueRows)}
		}
	}
	if values.Has("reason") && !slices.Contains(api.Reasons(), q.Reason) {
		return q, &api.FieldError{Field: "reason", Value: shown(string(q.Reason)), Rule: fmt.Sprint("must be one of ", api.Reasons())}
	}
	if values.Has("pool") {
		pool := strings.ToLower(values.Get("pool")) // Ironic folds the case of conductor groups
		q.Pool = &pool
	}
	return q, nil
}

var queueParameters = []string{"limit", "namespace", "pool", "reason"}
