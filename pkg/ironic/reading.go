package ironic

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

// readLists reads the lists of flow and puts what they and page, which was read before, show together, each node once. The
// states of one kind of work are read one after the other, as nodes pass through them, and the last observation of a node is
// the truest; different kinds side by side, for a node comes from one to another only through an idle state and a new request.
func (p *Poller) readLists(ctx context.Context, page []Node, flow []State) ([]Node, error) {
	var order []Work
	rows := make(map[Work][]State)
	for _, state := range flow {
		work := state.Work()
		if work == WorkDelete {
			work = WorkClean // which follows by itself
		}
		if rows[work] == nil {
			order = append(order, work)
		}
		rows[work] = append(rows[work], state)
	}
	all := sightings{at: make(map[string]int), held: alone()}
	if err := all.take(page); err != nil {
		return nil, err
	}
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(p.opts.AtOnce)
	for _, work := range order {
		reads.Go(func() error {
			for _, state := range rows[work] {
				nodes, err := p.source.List(ctx, state)
				if err == nil {
					err = all.take(nodes)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := reads.Wait()
	return all.nodes, err
}

// sightings are the nodes that the lists of a poll have shown so far. Safe for concurrent
// use.
type sightings struct {
	mu    sync.Mutex // guards what follows
	nodes []Node
	at    map[string]int // uuid → index in nodes
	held  *portion
}

// take adds a list; the error names the bound that it breaks.
func (s *sightings) take(list []Node) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range list {
		if i, ok := s.at[n.UUID]; ok {
			s.nodes[i] = n
			continue
		}
		if err := s.held.add(n); err != nil {
			return answerError("the lists of all busy nodes", err)
		}
		s.at[n.UUID] = len(s.nodes)
		s.nodes = append(s.nodes, n)
	}
	return nil
}

// fetch reads single nodes, each with a mark of its own, and returns those that were answered within one pause: the poll grows
// older meanwhile.
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
