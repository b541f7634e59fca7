package fakeironic

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Query chooses a page of nodes. The zero value is the first page of all nodes
// in the order of their making.
type Query struct {
	State   ironic.State // "" is any
	Limit   int          // 0 or above the API's own limit: that limit
	Marker  string       // UUID of the last node of the page before
	SortKey string       // "" is id
	Desc    bool

	maintenance, associated, retired *bool
	instance, group, driver          *string
	fault, parent                    *string
	children                         bool // nodes with a parent too
}

// List returns a page and whether it is full, so that another may follow. The
// error is Ironic's faultstring: unknown marker or sort key.
func (w *World) List(now time.Time, q Query) (page []ironic.Node, more bool, faultstring string) {
	w.Advance(now)
	w.count(callList)
	rows, f := w.page(&q)
	if f != nil {
		return nil, false, f.text
	}
	page = make([]ironic.Node, len(rows))
	for i, n := range rows {
		page[i] = n.public(n.list())
	}
	return page, len(rows) > 0 && len(rows) == q.Limit, ""
}

// Node returns one node as the single GET shows it.
func (w *World) Node(now time.Time, ident string) (ironic.Node, bool) {
	w.Advance(now)
	w.count(callNode)
	n := w.find(ident)
	if n == nil {
		return ironic.Node{}, false
	}
	return n.public(&n.face), true
}

// Inventory reports whether an inspection of a node has ended well.
func (w *World) Inventory(now time.Time, ident string) bool {
	w.Advance(now)
	n := w.find(ident)
	return n != nil && n.inventory
}

// page finds the rows of q and sets q.Limit to what counts.
func (w *World) page(q *Query) ([]*node, *fault) {
	if q.Limit <= 0 || q.Limit > w.opt.API.MaxLimit {
		q.Limit = w.opt.API.MaxLimit
	}
	var marker *node
	if q.Marker != "" {
		if marker = w.byUUID[w.key(q.Marker)]; marker == nil {
			return nil, notFound(q.Marker)
		}
	}
	rows := w.nodes
	switch {
	case q.instance != nil:
		rows = nil
		if n := w.byInst[*q.instance]; n != nil {
			rows = []*node{n}
		}
	case q.State != "":
		rows = w.byState[q.State]
	}
	if q.SortKey == "" || q.SortKey == "id" {
		return q.byID(rows, marker), nil
	}
	if q.SortKey == "provision_updated_at" && marker == nil && q.State == "" && q.instance == nil {
		return w.byStamp(q), nil
	}
	key, ok := columns[q.SortKey]
	if !ok {
		return nil, clientFault(400, `The sort_key value "%s" is an invalid field for sorting`, q.SortKey)
	}
	return q.byKey(rows, marker, key, w.opt.NullsFirst), nil
}

// byID walks the rows from the marker on, as far as the page needs.
func (q *Query) byID(rows []*node, marker *node) []*node {
	var out []*node
	if q.Desc {
		i := len(rows) - 1
		if marker != nil {
			i = searchID(rows, marker.id) - 1
		}
		for ; i >= 0 && len(out) < q.Limit; i-- {
			if q.matches(rows[i]) {
				out = append(out, rows[i])
			}
		}
		return out
	}
	i := 0
	if marker != nil {
		i = searchID(rows, marker.id+1)
	}
	for ; i < len(rows) && len(out) < q.Limit; i++ {
		if q.matches(rows[i]) {
			out = append(out, rows[i])
		}
	}
	return out
}

func (q *Query) matches(n *node) bool {
	f := n.list()
	return (q.State == "" || f.state == q.State) &&
		(q.maintenance == nil || f.maintenance == *q.maintenance) &&
		(q.associated == nil || (n.attrs.instance != "") == *q.associated) &&
		(q.retired == nil || !*q.retired) &&
		(q.instance == nil || n.attrs.instance == *q.instance) &&
		(q.group == nil || strings.EqualFold(n.attrs.group, *q.group)) &&
		(q.driver == nil || n.attrs.driver == *q.driver) &&
		(q.fault == nil || f.fault == *q.fault) &&
		(q.children || q.parent == nil && n.parent() == "" || q.parent != nil && n.parent() == *q.parent)
}

// parent is the UUID of the node that n is a part of, "" where it is none.
func (n *node) parent() string {
	var uuid string
	if raw, set := n.attrs.rest["parent_node"]; set {
		_ = json.Unmarshal(raw, &uuid) // null, or a string
	}
	return uuid
}

// column is what can be sorted by: its value as number or text, and whether
// that is NULL.
type column func(n *node) (number int64, text string, null bool)

func textColumn(get func(*node) string) column {
	return func(n *node) (int64, string, bool) { s := get(n); return 0, s, s == "" }
}

func timeColumn(get func(*node) int64) column {
	return func(n *node) (int64, string, bool) { t := get(n); return t, "", t == 0 }
}

var columns = map[string]column{
	"uuid":                 textColumn(func(n *node) string { return n.uuid }),
	"name":                 textColumn(func(n *node) string { return n.name }),
	"provision_state":      textColumn(func(n *node) string { return string(n.list().state) }),
	"created_at":           timeColumn(func(n *node) int64 { return n.created }),
	"updated_at":           timeColumn(func(n *node) int64 { return n.list().updated }),
	"provision_updated_at": timeColumn(func(n *node) int64 { return n.list().provUpdated }),
}

// compare orders two rows ascending; NULL is the least, or the greatest where nulls come
// first with desc; the id breaks ties.
func (c column) compare(a, b *node, nullsFirst bool) int {
	na, ta, nulla := c(a)
	nb, tb, nullb := c(b)
	switch {
	case nulla != nullb && nulla != nullsFirst:
		return -1
	case nulla != nullb:
		return 1
	}
	return cmp.Or(cmp.Compare(na, nb), cmp.Compare(ta, tb), cmp.Compare(a.id, b.id))
}

// byKey keeps the first Limit rows after the marker in a heap, so a page costs
// one walk over the rows and never a sort of all of them.
func (q *Query) byKey(rows []*node, marker *node, key column, nullsFirst bool) []*node {
	before := func(a, b *node) bool {
		if q.Desc {
			return key.compare(a, b, nullsFirst) > 0
		}
		return key.compare(a, b, nullsFirst) < 0
	}
	last := heapOf[*node]{less: func(a, b *node) bool { return before(b, a) }}
	for _, n := range rows {
		if !q.matches(n) || marker != nil && !q.afterMarker(n, marker, key, before) {
			continue
		}
		if len(last.items) == q.Limit {
			if !before(n, last.items[0]) {
				continue
			}
			last.pop()
		}
		last.push(n)
	}
	out := make([]*node, len(last.items))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = last.pop()
	}
	return out
}

// afterMarker is the database's idea of the rows behind a marker. Comparing with
// NULL is never true there, so paging by a column with NULLs loses rows
// (docs/dev/reference/ironic.md): behind a marker with a value no NULL comes, and a NULL marker
// leaves only its id to compare.
func (q *Query) afterMarker(n, marker *node, key column, before func(a, b *node) bool) bool {
	_, _, null := key(n)
	_, _, markerNull := key(marker)
	switch {
	case markerNull && q.Desc:
		return n.id < marker.id
	case markerNull:
		return n.id > marker.id
	}
	return !null && before(marker, n)
}
