package fakeironic

import (
	"cmp"
	"slices"
)

// ranked are the nodes that have changed, by provision_updated_at as lists show it and
// then by id, so that the newest changes of many nodes are found without a walk over all.
type ranked []*node

func (r ranked) search(stamp, id int64) (int, bool) {
	return slices.BinarySearchFunc(r, stamp, func(n *node, stamp int64) int {
		return cmp.Or(cmp.Compare(n.rank, stamp), cmp.Compare(n.id, id))
	})
}

// rerank must be called whenever provision_updated_at of a node has changed, as lists
// show it.
func (w *World) rerank(n *node) {
	stamp := n.list().provUpdated
	if n.rank == stamp {
		return
	}
	w.unrank(n)
	if stamp != 0 {
		i, _ := w.ranked.search(stamp, n.id)
		w.ranked = slices.Insert(w.ranked, i, n)
		n.rank = stamp
	}
}

func (w *World) unrank(n *node) {
	if i, ok := w.ranked.search(n.rank, n.id); ok {
		w.ranked = slices.Delete(w.ranked, i, i+1)
	}
	n.rank = 0
}

// byStamp is the first page of a list of all nodes by provision_updated_at.
func (w *World) byStamp(q *Query) []*node {
	out := make([]*node, 0, min(q.Limit, len(w.nodes)))
	take := func(rows []*node, null bool) {
		for i := 0; i < len(rows) && len(out) < q.Limit; i++ {
			n := rows[i]
			if q.Desc {
				n = rows[len(rows)-1-i]
			}
			if (n.rank == 0) == null && q.matches(n) {
				out = append(out, n)
			}
		}
	}
	if q.Desc == w.opt.NullsFirst {
		take(w.nodes, true)
		take(w.ranked, false)
	} else {
		take(w.ranked, false)
		take(w.nodes, true)
	}
	return out
}
