package fakeironic

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Query selects a page of nodes. The zero value is the first page of all nodes, the oldest first.
type Query struct {
	State   ironic.State // "": any
	Limit   int          // 0, or more than MaxLimit: MaxLimit
	Marker  string       // UUID of the last node of the page before
	SortKey string       // id or provision_updated_at; "": id
	Desc    bool

	children bool // also nodes with a parent
}

// List returns a page, and whether it is full, so that another may follow. With an unknown marker or sort key it is
// empty.
func (w *World) List(now time.Time, q Query) (page []ironic.Node, more bool) {
	w.Advance(now)
	w.count(callList)
	rows, _ := w.page(&q)
	page = make([]ironic.Node, len(rows))
	for i, n := range rows {
		page[i] = n.public()
	}
	return page, len(rows) == q.Limit
}

// page returns the nodes of q, and sets q.Limit to the number that counts.
func (w *World) page(q *Query) (rows []*node, f *fault) {
	if most := w.opt.API.MaxLimit; q.Limit <= 0 || q.Limit > most {
		q.Limit = most
	}
	if q.SortKey != "" && q.SortKey != "id" && q.SortKey != "provision_updated_at" {
		return nil, clientFault(400, `The sort_key value "%s" is an invalid field for sorting`, q.SortKey)
	}
	marker := w.byUUID[q.Marker]
	if q.Marker != "" && marker == nil {
		return nil, notFound(q.Marker)
	}
	all := w.nodes
	if q.State.Busy() {
		all = w.busy
	}
	for _, n := range all {
		if !q.matches(n) || marker != nil && q.compare(marker, n) >= 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(rows, n, q.compare)
		if i < q.Limit {
			rows = slices.Insert(rows, i, n)
			rows = rows[:min(len(rows), q.Limit)]
		}
	}
	return rows, nil
}

// compare orders nodes. The id decides between equal ones, and NULL comes first.
func (q *Query) compare(a, b *node) int {
	order := cmp.Compare(a.id, b.id)
	if q.SortKey == "provision_updated_at" {
		order = cmp.Or(cmp.Compare(a.provUpdated, b.provUpdated), order)
	}
	if q.Desc {
		return -order
	}
	return order
}

func (q *Query) matches(n *node) bool {
	parent, child := n.rest["parent_node"]
	return (q.State == "" || n.state == q.State) && (q.children || !child || string(parent) == "null")
}
