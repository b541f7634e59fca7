package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What place tries if the first search finds no place for a pod.
const (
	retries   = 4      // searches with that pod at another turn
	looksBack = 20_000 // then, how many nodes a search that goes back may check
)

// Why a node does not take a pod: one of these, or that it has too little of a resource.
const (
	closed = "" // it goes too, or pods may not be moved there
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
	node *fitNode // the place
}

// larger compares items: first those without a node, then those that take a larger share of the cluster, then by name.
func larger(a, b *item) int {
	return cmp.Or(trueFirst(a.waits(), b.waits()), cmp.Compare(b.size, a.size), strings.Compare(a.name, b.name))
}

// check returns fits, or why the node does not take the item now.
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
	case !it.selects(n) || slices.ContainsFunc(it.keys, n.mayGet) || it.zoned && n.mayGet(byZone):
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

// put takes room for the item on its node (by: 1), or gives it back (by: -1).
func (it *item) put(by int) {
	it.node.subtract(it.shape, int64(by))
	it.count(it.node, !it.waits(), by)
}

// place finds a node for each item, and notes it in the item. It returns why an item finds none; "": all find one. The
// cluster does not change.
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
			try = retries - 1 // another order of the items does not help
			continue
		}
		it := items[s.failed]
		switch alone := c.first(it, 0) < len(c.order); {
		case !alone && (!it.free() || try == retries || len(items) == 1):
			return c.nowhere(it)
		case try == retries:
			return "pod " + it.name + " finds no room on the other nodes beside the pods that need it too"
		case it.free(): // the pods that it needs, or that count against it, come first
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
	failed int // the index of the first item without a place; -1: none; len(items): a waiting pod loses its place
	back   int // how many nodes it may still check after it went back
}

// fill finds places for the items from i on. Pods of one shape are alike: the next one skips the nodes that do
// not take this one.
func (s *search) fill(i int) bool {
	if i == len(s.items) {
		waits := func(n *fitNode) bool { return slices.ContainsFunc(n.waiting, (*item).unsettled) }
		bad := slices.IndexFunc(s.items, (*item).unsettled)
		if bad < 0 && slices.ContainsFunc(s.order, waits) {
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

// unsettled reports whether the affinity or the spread of an item does not hold any more, with all others placed.
func (it *item) unsettled() bool {
	if !it.free() || it.node.goes {
		return false
	}
	it.count(it.node, !it.waits(), -1)
	defer it.count(it.node, !it.waits(), 1)
	return !it.beside(it.node) || !it.even(it.node)
}

// first returns the index of the first node of the order, from on, that takes the item; len(c.order): none does.
func (c *cluster) first(it *item, from int) int {
	for at := from; at < len(c.order); at++ {
		if c.order[at].check(it) == fits {
			return at
		}
	}
	return len(c.order)
}

// nowhere returns why no node takes the item, even if no other pod moves.
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
