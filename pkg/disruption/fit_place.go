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

// refusal is why a node does not take a pod: the place of one of these words, or behind them that of a resource.
type refusal int

var refusals = []string{
	closed: "", taint: "a taint that it does not tolerate", labels: "other labels than it selects", volume: "no way to its volumes",
	ports: "its host port taken", crowd: "pods that must not be beside it", lonely: "no pods beside which it must be",
	uneven: "too many of its pods for its topology spread",
}

const (
	fits   refusal = iota - 1
	closed         // the node goes too, or pods are not moved there
	taint
	labels
	volume
	ports
	crowd
	lonely
	uneven
)

// item is a pod that needs a place.
type item struct {
	pod, shape int32
	waits      bool  // it has no node yet
	node       int32 // where it is
	at, began  int32 // places in the order: where it is, and where its search began
}

// larger orders items: those that want the larger share of the cluster first, then by name.
func (c *cluster) larger(a, b item) int {
	return cmp.Or(cmp.Compare(c.shapes.list[b.shape].size, c.shapes.list[a.shape].size), cmp.Compare(a.pod, b.pod))
}

// check says whether the node takes the item now.
func (c *cluster) check(it *item, n int32) refusal {
	s, node := &c.shapes.list[it.shape], &c.nodes[n]
	if node.gone == c.call || !node.target && !it.waits {
		return closed
	}
	if r := max(node.lacking(s.needs), node.lacking(s.volumes)); r >= 0 {
		return refusal(len(refusals)) + refusal(r)
	}
	switch a := c.meets(s, n); {
	case a&endures == 0:
		return taint
	case a&selected == 0 || a&guessed != 0:
		return labels
	case a&mounts == 0:
		return volume
	case slices.ContainsFunc(s.ports, func(p port) bool { return slices.ContainsFunc(node.ports, p.clashes) }):
		return ports
	case !c.apart(s, node):
		return crowd
	case !c.beside(s, node):
		return lonely
	case !c.even(s, node):
		return uneven
	}
	return fits
}

// put takes the room that an item has on its node; take gives it back. What was put last is taken first.
func (c *cluster) put(it *item) {
	s, node := &c.shapes.list[it.shape], &c.nodes[it.node]
	subtract(node.free, s.needs)
	subtract(node.free, s.volumes)
	node.ports = append(node.ports, s.ports...)
	c.count(s, it.node, !it.waits, 1)
}

func (c *cluster) take(it *item) {
	s, node := &c.shapes.list[it.shape], &c.nodes[it.node]
	for _, needs := range [][]need{s.needs, s.volumes} {
		for _, w := range needs {
			node.free[w.of] += w.amount
		}
	}
	node.ports = node.ports[:len(node.ports)-len(s.ports)]
	c.count(s, it.node, !it.waits, -1)
	c.start[it.shape] = it.began
}

// place finds a node for each item, all of them or none. It says why there is none for one of them; "" = there are. The
// cluster is as before, with the nodes noted in items.
func (c *cluster) place(ctx context.Context, items []item) (string, error) {
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
		free := c.shapes.list[it.shape].free()
		at, _, err := c.first(ctx, &it, 0)
		switch {
		case err != nil:
			return "", err
		case at < 0 && (!free || try == retries || len(items) == 1):
			return c.nowhere(&it), nil
		case try == retries:
			return c.called(&it) + " finds no room on the other nodes beside the pods that need it too", nil
		case free: // those that it needs, or that count against it, come first
			items = append(slices.Delete(items, failed, failed+1), it)
		default:
			copy(items[1:failed+1], items[:failed])
			items[0] = it
		}
	}
}

// search puts items on nodes, each on the first of the order that takes it, and takes them away again. It goes back for
// at most so many looks at nodes. It returns which item first found no place, or -1.
func (c *cluster) search(ctx context.Context, items []item, back int) (failed int, err error) {
	failed = -1
	i, from := 0, int32(0)
	defer func() {
		for i--; i >= 0; i-- {
			c.take(&items[i])
		}
	}()
	for i < len(items) {
		it := &items[i]
		if from == 0 {
			from = c.start[it.shape]
		}
		at, looks, err := c.first(ctx, it, from)
		if err != nil {
			return -1, err
		}
		if failed >= 0 {
			back -= looks + 1
		}
		stuck := i
		if at >= 0 {
			c.settle(it, at)
			i, from = i+1, 0
			if i < len(items) {
				continue
			}
			if stuck = c.unsettled(items); stuck < 0 {
				return -1, nil
			}
		}
		if failed < 0 {
			failed = stuck
		}
		if i == 0 || back <= 0 {
			return failed, nil
		}
		i--
		from = items[i].at + 1
		c.take(&items[i])
	}
	return failed, nil
}

// settle puts an item at a place of the order. Pods of one shape are as good as each other: the next one need not look
// where this one did not fit.
func (c *cluster) settle(it *item, at int32) {
	it.at, it.began, it.node = at, c.start[it.shape], c.order[at]
	if !c.shapes.list[it.shape].free() {
		c.start[it.shape] = at
	}
	c.put(it)
}

// unsettled is an item whose affinity or spread does not hold with all others where they are, in whatever order they
// come; -1: none.
func (c *cluster) unsettled(items []item) int {
	return slices.IndexFunc(items, func(it item) bool {
		s, node := &c.shapes.list[it.shape], &c.nodes[it.node]
		if !s.free() || it.waits {
			return false
		}
		c.count(s, it.node, true, -1)
		defer c.count(s, it.node, true, 1)
		return !c.beside(s, node) || !c.even(s, node)
	})
}

// first is the first place of the order, from on, that takes the item, or -1; and how many were looked at.
func (c *cluster) first(ctx context.Context, it *item, from int32) (at int32, looks int, err error) {
	for at = from; int(at) < len(c.order); at++ {
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
func (c *cluster) called(it *item) string {
	if it.waits {
		return fmt.Sprintf("pod %s, which waits for a node,", c.pods[it.pod].name)
	}
	return "pod " + c.pods[it.pod].name
}

// nowhere says why no node takes the item, though no other pod moves.
func (c *cluster) nowhere(it *item) string {
	counts := make([]int, len(refusals)+len(c.names))
	for _, n := range c.order {
		counts[c.check(it, n)]++
	}
	var why []string
	for r, n := range counts[1:] {
		switch r++; {
		case n == 0:
		case r < len(refusals):
			why = append(why, fmt.Sprintf("%d %s", n, refusals[r]))
		default:
			why = append(why, fmt.Sprintf("%d too little %s", n, c.names[r-len(refusals)]))
		}
	}
	if len(why) == 0 {
		return c.called(it) + " has nowhere to go: no other node takes pods"
	}
	return fmt.Sprintf("%s fits on no other node: of those that take pods, have %s", c.called(it), strings.Join(why, ", "))
}
