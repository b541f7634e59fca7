package ironic

import (
	"context"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// readLists reads the lists of flow and puts what they and page, which was read before, show together, each node once.
// The states of one kind of work are read one after the other, as nodes pass through them, and the last observation of
// a node is the truest; different kinds side by side, for a node comes from one to another only through an idle state
// and a new request.
func (p *Poller) readLists(ctx context.Context, page []Node, flow []State) ([]Node, error) {
	rows := rowsOf(flow)
	shown := make([][]Node, len(rows))
	var held atomic.Int64
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(p.opts.AtOnce)
	for i, row := range rows {
		reads.Go(func() error {
			for _, state := range row {
				nodes, err := p.source.List(ctx, state)
				if err != nil {
					return err
				}
				for _, n := range nodes {
					if err := hold(&held, n); err != nil {
						return answerError("the lists of all busy nodes", err)
					}
				}
				shown[i] = append(shown[i], nodes...)
			}
			return nil
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	nodes, at := page, make(map[string]int) // uuid → index in nodes
	for i, n := range page {
		at[n.UUID] = i
	}
	for _, n := range slices.Concat(shown...) {
		i, known := at[n.UUID]
		if known {
			nodes[i] = n
		} else {
			at[n.UUID], nodes = len(nodes), append(nodes, n)
		}
	}
	return nodes, nil
}

// rowsOf are the states of flow by kind of work. Cleaning follows a deletion by itself.
func rowsOf(flow []State) (rows [][]State) {
	at := make(map[Work]int)
	for _, state := range flow {
		work := state.Work()
		if work == WorkDelete {
			work = WorkClean
		}
		i, ok := at[work]
		if !ok {
			i = len(rows)
			at[work], rows = i, append(rows, nil)
		}
		rows[i] = append(rows[i], state)
	}
	return rows
}

// fetch reads single nodes, each with a mark of its own, and returns those that were answered within one pause: the
// poll grows older meanwhile.
func (p *Poller) fetch(ctx context.Context, keys []string) []NodeObservation {
	ctx, cancel := context.WithTimeout(ctx, max(p.opts.Interval, minFetchTimeout))
	defer cancel()
	observed := make([]NodeObservation, len(keys))
	for i, key := range keys {
		observed[i] = NodeObservation{Key: key, Mark: p.view.Begin(p.opts.Now())}
	}
	failed := make([]error, len(keys))
	var reads errgroup.Group
	reads.SetLimit(p.opts.AtOnce)
	for i := range observed {
		reads.Go(func() error {
			o := &observed[i]
			o.Node, o.Found, failed[i] = p.source.Node(ctx, o.Key)
			return nil
		})
	}
	_ = reads.Wait() // none fails it
	answered := observed[:0]
	for i, o := range observed {
		if failed[i] == nil {
			answered = append(answered, o)
			continue
		}
		p.opts.Log.Debug("a node could not be fetched", "node", keys[i], "error", failed[i])
	}
	return answered
}
