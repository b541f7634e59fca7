package ironic

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// readLists reads the lists of flow, and returns the nodes that they and page, which was read before, show: each node
// once, as last shown. It reads the states of one kind of work one after the other, as nodes pass through them, and
// different kinds side by side, as a node passes from one to another only through an idle state and a new request.
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
				if err := hold(&held, nodes...); err != nil {
					return answerError("the lists of all busy nodes", err)
				}
				shown[i] = append(shown[i], nodes...)
			}
			return nil
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	var nodes []Node
	at := make(map[string]int) // the index in nodes, by UUID
	for _, n := range append(page, slices.Concat(shown...)...) {
		if i, known := at[n.UUID]; known {
			nodes[i] = n
			continue
		}
		at[n.UUID], nodes = len(nodes), append(nodes, n)
	}
	return nodes, nil
}

// rowsOf returns the states of flow by kind of work. Deletion and cleaning are one, as Ironic goes on by itself.
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

// fetch fetches nodes one by one, each with its own mark, and returns the answers that came within one pause, as the
// rest of the poll grows old meanwhile.
func (p *Poller) fetch(ctx context.Context, keys []string) []NodeObservation {
	ctx, cancel := context.WithTimeout(ctx, max(time.Duration(p.interval.Load()), minFetchTimeout))
	defer cancel()
	var mu sync.Mutex // guards answered
	var answered []NodeObservation
	var reads errgroup.Group
	reads.SetLimit(p.opts.AtOnce)
	for _, key := range keys {
		o := NodeObservation{Key: key, Mark: p.view.Begin(p.opts.Now())}
		reads.Go(func() (err error) {
			if o.Node, o.Found, err = p.source.Node(ctx, key); err != nil {
				p.opts.Log.Debug("a node could not be fetched", "node", key, "error", err)
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			answered = append(answered, o)
			return nil
		})
	}
	_ = reads.Wait() // no read returns an error
	slices.SortFunc(answered, func(a, b NodeObservation) int { return cmp.Compare(a.Mark.Seq, b.Mark.Seq) })
	return answered
}
