package cache

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
)

// capacityFields are what BMO's capacity check asks of every node.
const capacityFields = "uuid,name,provision_state,boot_interface"

// capacityQuery is a capacity list that is asked for (GW-11).
type capacityQuery struct {
	limit  int    // rows; 0: none was asked for
	marker string // UUID of the node after which the page begins, "" = from the start
}

// readCapacity tells of a request whether it asks for the capacity list, in the one form
// in which it can be nothing else: these fields in this order, and besides only what
// Ironic itself writes into next. What says anything more passes through.
func readCapacity(r *http.Request) (capacityQuery, bool) {
	if r.Method != http.MethodGet || r.URL.EscapedPath() != "/v1/nodes" || r.URL.Opaque != "" {
		return capacityQuery{}, false
	}
	var q capacityQuery
	const parameters = 5
	seen := make([]string, 0, parameters)
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(part, "=")
		if slices.Contains(seen, name) || len(seen) == parameters || !q.take(name, value) {
			return capacityQuery{}, false
		}
		seen = append(seen, name)
	}
	return q, slices.Contains(seen, "fields")
}

// take reads one parameter; false for one that means anything else.
func (q *capacityQuery) take(name, value string) bool {
	const digits = 9
	var ok bool
	switch name {
	case "fields":
		value = strings.ReplaceAll(strings.ReplaceAll(value, "%2C", ","), "%2c", ",")
		ok = value == capacityFields
	case "limit":
		n, err := strconv.Atoi(value)
		ok = err == nil && len(value) <= digits && value[0] >= '1' && value[0] <= '9'
		q.limit = n
	case "marker":
		ok = value != "" && !strings.ContainsAny(value, "%+")
		q.marker = value
	case "sort_key":
		ok = value == "id"
	case "sort_dir":
		ok = value == "asc"
	}
	return ok
}

// page is the part of a list that one answer holds.
type page struct {
	from, to int
	next     int // the limit that next bears, 0: nothing follows, as far as Ironic says
}

// of finds the page in a list as Ironic would; false where it would not find it.
func (q capacityQuery) of(nodes inventory.View) (page, bool) {
	var p page
	if q.marker != "" {
		i, ok := nodes.Find(q.marker)
		if !ok || nodes.At(i).UUID != q.marker { // Ironic knows it, or has its own 404
			return page{}, false
		}
		p.from = i + 1
	}
	limit := q.limit
	if most := nodes.PageLimit(); most > 0 && (limit == 0 || limit > most) {
		limit = most
	}
	p.to = nodes.Len()
	// Ironic says that more follows wherever it came to its limit.
	if limit > 0 && nodes.Len()-p.from >= limit {
		p.to, p.next = p.from+limit, limit
	}
	return p, true
}
