package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// How much is tried to find a place for all: the search starts again with the pod that found none, so often, and at last goes
// back and tries other places, up to so many looks at a node.
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
func (c *cluster) check(it *item, n *fitNode) string {
	if n.goes || !n.target && !it.waits() {
		return closed
	}
	for _, w := range it.needs {
		if n.left(w.of) < w.amount {
			return "too little " + w.of
		}
	}
	switch {
	case !it.tolerates(n.Taints):
		return taint
	case !it.selects(n):
		return labels
	case !it.mounts(n):
		return volume
	case !it.apart(n):
		return crowd
	case !it.waits() && !c.even(it.shape, n): // of those that wait none has a spread
		return uneven
	}
	return fits
}

// put takes the room that an item has on its node, or gives it back: by is 1 or -1.
func (it *item) put(by int) {
	it.node.subtract(it.shape, int64(by))
	it.count(it.node, false, by)
}

// place finds a node for each item, all of them or none. It says why there is none for one of them; "" = there are. The
// cluster is as before, with the nodes noted in items.
func (c *cluster) place(items []*item) string {
	for try := 1; ; try++ {
		s := search{cluster: c}
		if try == retries {
			s.back = looksBack
		}
		switch {
		case s.fill(items):
			return ""
		case c.first(s.failed, 0) == len(c.order):
			return c.nowhere(s.failed)
		case try == retries:
			return "pod " + s.failed.name + " finds no room on the other nodes beside the pods that need it too"
		}
		items = slices.DeleteFunc(items, func(it *item) bool { return it == s.failed })
		items = slices.Insert(items, 0, s.failed)
	}
}

// search puts items on nodes, each on the first of the order that takes it, and takes them away again.
type search struct {
	*cluster
	failed *item // which first found no place
	back   int   // looks at nodes that it may still go back for
}

// fill finds places for all items. Pods of one shape are as good as each other: the next one need not look where this one
// did not fit.
func (s *search) fill(items []*item) bool {
	if len(items) == 0 {
		return true
	}
	it := items[0]
	defer func(was int) { it.start = was }(it.start)
	for from := it.start; ; from = it.start + 1 {
		it.start = s.first(it, from)
		if s.failed != nil {
			s.back -= it.start - from + 1
		}
		if it.start == len(s.order) {
			break
		}
		it.node = s.order[it.start]
		it.put(1)
		done := s.fill(items[1:])
		if it.put(-1); done || s.back <= 0 {
			return done
		}
	}
	if s.failed == nil {
		s.failed = it
	}
	return false
}

// first is the first place of the order, from on, that takes the item; the length of the order: none does.
func (c *cluster) first(it *item, from int) int {
	for at := from; at < len(c.order); at++ {
		if c.check(it, c.order[at]) == fits {
			return at
		}
	}
	return len(c.order)
}

// nowhere says why no node takes the item, though no other pod moves.
func (c *cluster) nowhere(it *item) string {
	counts := map[string]int{}
	for _, n := range c.order {
		if why := c.check(it, n); why != closed && why != fits {
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
