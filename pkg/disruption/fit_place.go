package disruption

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// How much is tried when the first search finds no place for all: it starts again with the pod that found none at
// another turn, and then goes back and tries other places, up to so many looks at a node.
const (
	retries   = 4
	looksBack = 20_000
	looksCtx  = 1 << 6 // looks between two looks at ctx
)

// Why a node does not take a pod: one of these, or that it has too little of a resource.
const (
	closed = "" // it goes too, or pods are not moved there
	fits   = "fits"
	taint  = "a taint that it does not tolerate"
	labels = "other labels than it selects"
	volume = "no way to its volumes"
	ports  = "its host port taken"
	crowd  = "pods that must not be beside it"
	lonely = "no pods beside which it must be"
	uneven = "too many of its pods for its topology spread"
)

// item is a pod that needs a place.
type item struct {
	*fitPod
	waits     bool     // it has no node yet
	node      *fitNode // where it is
	at, began int      // places in the order: where it is, and where its search began
}

// larger orders items: those without a node, then those that want the larger share of the cluster, then by name.
func larger(a, b *item) int {
	if a.waits != b.waits {
		return map[bool]int{true: -1, false: 1}[a.waits]
	}
	return cmp.Or(cmp.Compare(b.size, a.size), strings.Compare(a.name, b.name))
}

// check says whether the node takes the item now.
func (c *cluster) check(it *item, n *fitNode) string {
	if n.goes || !n.target && !it.waits {
		return closed
	}
	for _, needs := range [][]need{it.needs, it.volumes} {
		for _, w := range needs {
			if w.amount > 0 && n.free[w.of] < w.amount {
				return c.lacks[w.of]
			}
		}
	}
	switch a := c.meets(it.shape, n); {
	case a&endures == 0:
		return taint
	case a&selected == 0 || a&guessed != 0 || (it.inZone || it.zoned) && n.unsure():
		return labels
	case a&mounts == 0:
		return volume
	case slices.ContainsFunc(it.ports, func(p port) bool { return slices.ContainsFunc(n.ports, p.clashes) }):
		return ports
	case !it.apart(n):
		return crowd
	case !it.beside(n):
		return lonely
	case !it.even(n):
		return uneven
	}
	return fits
}

// put takes the room that an item has on its node; take gives it back. What was put last is taken first.
func (it *item) put() {
	subtract(it.node.free, it.needs)
	subtract(it.node.free, it.volumes)
	it.node.ports = append(it.node.ports, it.ports...)
	it.count(it.node, !it.waits, 1)
}

func (it *item) take() {
	for _, needs := range [][]need{it.needs, it.volumes} {
		for _, w := range needs {
			it.node.free[w.of] += w.amount
		}
	}
	it.node.ports = it.node.ports[:len(it.node.ports)-len(it.ports)]
	it.count(it.node, !it.waits, -1)
	it.start = it.began
}

// place finds a node for each item, all of them or none. It says why there is none for one of them; "" = there are. The
// cluster is as before, with the nodes noted in items.
func (c *cluster) place(ctx context.Context, items []*item) (string, error) {
	for try := 0; ; try++ {
		back := 0
		if try == retries {
			back = looksBack
		}
		failed, err := c.search(ctx, items, back)
		if err != nil || failed < 0 {
			return "", err
		}
		it := items[failed]
		at, _, err := c.first(ctx, it, 0)
		switch {
		case err != nil:
			return "", err
		case at < 0 && (!it.free() || try == retries || len(items) == 1):
			return c.nowhere(it), nil
		case try == retries:
			return it.called() + " finds no room on the other nodes beside the pods that need it too", nil
		case it.free(): // those that it needs, or that count against it, come first
			items = append(slices.Delete(items, failed, failed+1), it)
		default:
			copy(items[1:failed+1], items[:failed])
			items[0] = it
		}
	}
}

// search puts items on nodes, each on the first of the order that takes it, and takes them away again. It goes back for
// at most so many looks at nodes. It returns which item first found no place, or -1.
func (c *cluster) search(ctx context.Context, items []*item, back int) (failed int, err error) {
	failed = -1
	i, from := 0, 0
	defer func() {
		for i--; i >= 0; i-- {
			items[i].take()
		}
	}()
	for i < len(items) {
		at, looks, err := c.first(ctx, items[i], max(from, items[i].start))
		if err != nil {
			return -1, err
		}
		if failed >= 0 {
			back -= looks + 1
		}
		stuck := i
		if at >= 0 {
			items[i].settle(c.order[at], at)
			i, from = i+1, 0
			if i < len(items) {
				continue
			}
			if stuck = slices.IndexFunc(items, (*item).unsettled); stuck < 0 {
				return -1, nil
			}
		}
		if failed < 0 {
			failed = stuck
		}
		if i == 0 || back <= 0 {
			break
		}
		i--
		from = items[i].at + 1
		items[i].take()
	}
	return failed, nil
}

// settle puts an item at a place of the order. Pods of one shape are as good as each other: the next one need not look
// where this one did not fit.
func (it *item) settle(n *fitNode, at int) {
	it.node, it.at, it.began = n, at, it.start
	if !it.free() {
		it.start = at
	}
	it.put()
}

// unsettled reports whether the affinity or the spread of an item that moves does not hold with all others where they
// are, in whatever order they came.
func (it *item) unsettled() bool {
	if !it.free() || it.waits {
		return false
	}
	it.count(it.node, true, -1)
	defer it.count(it.node, true, 1)
	return !it.beside(it.node) || !it.even(it.node)
}

// first is the first place of the order, from on, that takes the item, or -1; and how many were looked at.
func (c *cluster) first(ctx context.Context, it *item, from int) (at, looks int, err error) {
	for at = from; at < len(c.order); at++ {
		if looks%looksCtx == 0 {
			if err := ctx.Err(); err != nil {
				return -1, looks, err
			}
		}
		if looks++; c.check(it, c.order[at]) == fits {
			return at, looks, nil
		}
	}
	return -1, looks, nil
}

// called names an item's pod in a sentence.
func (it *item) called() string {
	if it.waits {
		return "pod " + it.name + ", which waits for a node,"
	}
	return "pod " + it.name
}

// nowhere says why no node takes the item, though no other pod moves.
func (c *cluster) nowhere(it *item) string {
	counts := map[string]int{}
	for _, n := range c.order {
		counts[c.check(it, n)]++
	}
	var why []string
	for _, words := range slices.Concat([]string{taint, labels, volume, ports, crowd, lonely, uneven}, c.lacks) {
		if n := counts[words]; n > 0 {
			why = append(why, fmt.Sprintf("%d %s", n, words))
		}
	}
	if len(why) == 0 {
		return it.called() + " has nowhere to go: no other node takes pods"
	}
	return fmt.Sprintf("%s fits on no other node: of those that take pods, have %s", it.called(), strings.Join(why, ", "))
}
