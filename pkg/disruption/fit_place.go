package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// How much is tried when the first search finds no place for all: it starts again with the pod that found none at
// another turn, and then goes back and tries other places, up to so many looks at a node.
const (
	retries   = 4
	looksBack = 20_000
)

// Why a node does not take a pod: one of these, or that it has too little of a resource.
const (
	closed = "" // it goes too, or pods are not moved there
	fits   = "fits"
	taint  = "a taint that it does not tolerate"
	labels = "other labels than it selects"
	volume = "no way to its volumes"
	crowd  = "pods that must not be beside it"
	lonely = "no pods beside which it must be"
	uneven = "too many of its pods for its topology spread"
)

// item is a pod that needs a place.
type item struct {
	*fitPod
	node *fitNode // where it is
}

// larger orders items: those without a node, then those that want the larger share of the cluster, then by name.
func larger(a, b *item) int {
	return cmp.Or(trueFirst(a.waits(), b.waits()), cmp.Compare(b.size, a.size), strings.Compare(a.name, b.name))
}

// check says whether the node takes the item now.
func (n *fitNode) check(it *item) string {
	if n.goes || !n.target && !it.waits() {
		return closed
	}
	for _, w := range it.needs {
		if n.left(w.of) < w.amount {
			return w.lack
		}
	}
	switch {
	case !it.tolerates(n.Taints) || !it.endures(n.Taints):
		return taint
	case !it.selects(n) || it.guesses(n) || it.zoned && n.unsure():
		return labels
	case !it.mounts(n.object):
		return volume
	case !it.apart(n):
		return crowd
	case !it.beside(n):
		return lonely
	case !it.even(n):
		return uneven
	}
	return fits
}

// put takes the room that an item has on its node, or gives it back: by is 1 or -1.
func (it *item) put(by int) {
	it.node.subtract(it.shape, int64(by))
	it.count(it.node, !it.waits(), by)
}

// place finds a node for each item, all of them or none. It says why there is none for one of them; "" = there are. The
// cluster is as before, with the nodes noted in items.
func (c *cluster) place(items []*item) string {
	for try := 0; ; try++ {
		s := search{cluster: c, items: items, failed: -1}
		if try == retries {
			s.back = looksBack
		}
		if s.fill(0) {
			return ""
		}
		if s.failed == len(items) {
			if try == retries {
				return "a pod that waits for a node would find none"
			}
			try = retries - 1 // another order of these helps no other
			continue
		}
		it := items[s.failed]
		switch alone := c.first(it, 0) < len(c.order); {
		case !alone && (!it.free() || try == retries || len(items) == 1):
			return c.nowhere(it)
		case try == retries:
			return "pod " + it.name + " finds no room on the other nodes beside the pods that need it too"
		case it.free(): // those that it needs, or that count against it, come first
			items = append(slices.Delete(items, s.failed, s.failed+1), it)
		default:
			copy(items[1:s.failed+1], items[:s.failed])
			items[0] = it
		}
	}
}

// search puts items on nodes, each on the first of the order that takes it, and takes them away again.
type search struct {
	*cluster
	items  []*item
	failed int // which item first found no place; -1: none did; their number: one that waits on a node that stays
	back   int // looks at nodes that it may still go back for
}

// fill finds places for the items from i on. Pods of one shape are as good as each other: the next one need not look
// where this one did not fit.
func (s *search) fill(i int) bool {
	if i == len(s.items) {
		bad := slices.IndexFunc(s.items, (*item).unsettled)
		if bad < 0 && slices.ContainsFunc(s.order, func(n *fitNode) bool { return slices.ContainsFunc(n.waiting, (*item).unsettled) }) {
			bad = i
		}
		if s.failed < 0 {
			s.failed = bad
		}
		return bad < 0
	}
	it := s.items[i]
	defer func(was int) { it.start = was }(it.start)
	for from := it.start; ; {
		at := s.first(it, from)
		if s.failed >= 0 {
			s.back -= at - from + 1
		}
		if at == len(s.order) {
			break
		}
		if it.node = s.order[at]; !it.free() {
			it.start = at
		}
		it.put(1)
		done := s.fill(i + 1)
		if it.put(-1); done || s.back <= 0 {
			return done
		}
		from = at + 1
	}
	if s.failed < 0 {
		s.failed = i
	}
	return false
}

// unsettled reports whether the affinity or the spread of an item does not hold with all others where they are, in
// whatever order they came.
func (it *item) unsettled() bool {
	if !it.free() || it.node.goes {
		return false
	}
	it.count(it.node, !it.waits(), -1)
	defer it.count(it.node, !it.waits(), 1)
	return !it.beside(it.node) || !it.even(it.node)
}

// first is the first place of the order, from on, that takes the item; the length of the order: none does.
func (c *cluster) first(it *item, from int) int {
	for at := from; at < len(c.order); at++ {
		if c.order[at].check(it) == fits {
			return at
		}
	}
	return len(c.order)
}

// nowhere says why no node takes the item, though no other pod moves.
func (c *cluster) nowhere(it *item) string {
	counts := map[string]int{}
	for _, n := range c.order {
		if why := n.check(it); why != closed && why != fits {
			counts[why]++
		}
	}
	if len(counts) == 0 {
		return "pod " + it.name + " has nowhere to go: no other node takes pods"
	}
	var why []string
	for _, words := range slices.Sorted(maps.Keys(counts)) {
		why = append(why, fmt.Sprintf("%d %s", counts[words], words))
	}
	return fmt.Sprintf("pod %s fits on no other node: of those that take pods, have %s", it.name, strings.Join(why, ", "))
}
