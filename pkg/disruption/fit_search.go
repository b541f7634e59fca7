package disruption

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// How much is tried when the first search finds no place for all: it is begun anew with the pod in front that found
// none, and then goes back and tries other places, up to so many looks at a node.
const (
	retries   = 4
	looksBack = 20_000
	looksCtx  = 1 << 6 // looks between two looks at ctx
)

// item is a pod that needs a place.
type item struct {
	pod, shape int32
	waits      bool  // for its first place
	node       int32 // where it is
	at, began  int32 // places in the order: where it is, and where its search began
}

// larger orders pods: those that want the larger share of the cluster first, then by name.
func (c *cluster) larger(a, b int32) int {
	return cmp.Or(cmp.Compare(c.shapes[c.pods[b].shape].size, c.shapes[c.pods[a].shape].size), int(a-b))
}

// sizeShapes computes sizes: the sum of the shares of all that the nodes have.
func (c *cluster) sizeShapes() {
	all := make([]float64, len(c.names))
	for i := range c.real {
		for name, r := range c.resources {
			q, _ := quantity(name, c.nodes[i].node.Allocatable[name]) // readNodes has read it
			all[r] += float64(q)
		}
	}
	for i := range c.shapes {
		s := &c.shapes[i]
		for _, w := range s.needs {
			s.size += float64(w.amount) / max(all[w.of], 1)
		}
	}
}

// place finds a node for each item, all of them or none. It says why there is none for one of them; "" = there are. The
// cluster is as before, with the nodes noted in items.
func (c *cluster) place(ctx context.Context, items []item, order []int32) (string, error) {
	for try := 0; ; try++ {
		back := 0
		if try == retries {
			back = looksBack
		}
		failed, err := c.search(ctx, items, order, back)
		if err != nil || failed < 0 {
			return "", err
		}
		it := items[failed]
		alone, _, err := c.first(ctx, &c.shapes[it.shape], order, 0)
		if err != nil {
			return "", err
		}
		if alone < 0 {
			return c.nowhere(it, order), nil
		}
		if try == retries || len(items) == 1 {
			return fmt.Sprintf("%s finds no room on the other nodes beside the pods that need it too", c.called(it)), nil
		}
		// It is put before the others, and they keep their order.
		copy(items[1:failed+1], items[:failed])
		items[0] = it
	}
}

// search puts items on nodes, each on the first of the order that takes it, and takes them away again. It goes back for at
// most so many looks at nodes. It returns which item first found no place, or -1.
func (c *cluster) search(ctx context.Context, items []item, order []int32, back int) (failed int, err error) {
	failed = -1
	i, from := 0, int32(0) // where the start of each shape is, between calls
	for i < len(items) {
		it := &items[i]
		var at int32
		var looks int
		if at, looks, err = c.first(ctx, &c.shapes[it.shape], order, from); err != nil {
			break
		}
		if failed >= 0 {
			back -= looks + 1
		}
		if at < 0 {
			if failed < 0 {
				failed = i
			}
			if i == 0 || back <= 0 {
				break
			}
			i--
			from = c.back(&items[i]) + 1
			continue
		}
		// Pods of one shape are as good as each other: the next one need not look where this one did not fit.
		it.at, it.began, it.node = at, c.start[it.shape], order[at]
		c.start[it.shape] = at
		c.put(&c.shapes[it.shape], it.node)
		if i++; i < len(items) {
			from = c.start[items[i].shape]
		}
	}
	done := i == len(items)
	for i--; i >= 0; i-- {
		c.back(&items[i])
	}
	if done {
		failed = -1
	}
	return failed, err
}

// back takes an item away, and returns where in the order it was.
func (c *cluster) back(it *item) int32 {
	c.take(&c.shapes[it.shape], it.node)
	c.start[it.shape] = it.began
	return it.at
}

// first is the first place of the order, from on, that takes the shape, or -1; and how many were looked at.
func (c *cluster) first(ctx context.Context, s *shape, order []int32, from int32) (at int32, looks int, err error) {
	for at = from; int(at) < len(order); at++ {
		if looks%looksCtx == 0 {
			if err := ctx.Err(); err != nil {
				return -1, looks, err
			}
		}
		if looks++; c.check(s, order[at]) == fits {
			return at, looks, nil
		}
	}
	return -1, looks, nil
}

// called names an item's pod in a sentence.
func (c *cluster) called(it item) string {
	if it.waits {
		return fmt.Sprintf("pod %s, which waits for a node,", c.pods[it.pod].name)
	}
	return "pod " + c.pods[it.pod].name
}

// nowhere says why no node takes the item, though no other pod moves.
func (c *cluster) nowhere(it item, order []int32) string {
	words := map[refusal]string{
		taint: "a taint that it does not tolerate", labels: "other labels than it selects", volume: "no way to its volumes",
		ports: "its host port taken", beside: "pods that must not be beside it",
	}
	counts := make([]int, int(lacks)+len(c.names))
	for _, n := range order {
		counts[c.check(&c.shapes[it.shape], n)]++
	}
	var why []string
	for r, n := range counts {
		switch {
		case n == 0 || refusal(r) == goes:
		case refusal(r) >= lacks:
			why = append(why, fmt.Sprintf("%d too little %s", n, c.names[r-int(lacks)]))
		default:
			why = append(why, fmt.Sprintf("%d %s", n, words[refusal(r)]))
		}
	}
	if len(why) == 0 {
		return c.called(it) + " has nowhere to go: no other node takes pods"
	}
	return fmt.Sprintf("%s fits on no other node: of those that take pods, have %s", c.called(it), strings.Join(why, ", "))
}
