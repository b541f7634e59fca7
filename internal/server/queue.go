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
	if s.gentle.do(r.Context(), func() { q = s.opts.Decider.Queue(s.opts.Now(), want.limit) }) != nil {
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
	writeJSON(w, http.StatusOK, wholeQueue(q))
}

// queueQuery is what GET /v1/queue may be asked for.
type queueQuery struct {
	limit int    // hosts of each pool
	pool  string // the one that is wanted, if one is
	one   bool
}

// parseQueueQuery refuses what it does not know, as the ask does: a misspelt
// parameter would show something else than was meant.
func parseQueueQuery(raw string) (queueQuery, *api.FieldError) {
	q := queueQuery{limit: queueRows}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, &api.FieldError{Field: "query", Rule: "cannot be read"}
	}
	for name, all := range values {
		known := name == "limit" || name == "pool"
		switch {
		case !known:
			return q, &api.FieldError{Field: shown(name), Rule: "is not a parameter: known are limit, pool"}
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
		q.limit = n
	}
	// Ironic folds the case of conductor groups.
	q.pool, q.one = strings.ToLower(values.Get("pool")), values.Has("pool")
	return q, nil
}

func poolNames(q api.Queue) string {
	var names []string
	for _, p := range q.Pools {
		names = append(names, strconv.Quote(p.Pool))
	}
	return strings.Join(names, ", ")
}
