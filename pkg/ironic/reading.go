package ironic

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

// readLists reads the lists of flow and puts what they show together, each node once. The
// states of one kind of work are read one after the other, as nodes pass through them,
// and the last observation of a node is the truest; different kinds side by side, for a
// node comes from one to another only through an idle state and a new request.
func (p *Poller) readLists(ctx context.Context, flow []State) ([]Node, error) {
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

// fetch reads nodes, each with a mark of its own; it fails with the first failure.
func (p *Poller) fetch(ctx context.Context, keys []string) ([]NodeObservation, error) {
	observed := p.marked(keys)
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(p.opts.AtOnce)
	for i := range observed {
		reads.Go(func() error { return p.fetchOne(ctx, &observed[i]) })
	}
	return observed, reads.Wait()
}

// marked begins an observation of each key.
func (p *Poller) marked(keys []string) []NodeObservation {
	observed := make([]NodeObservation, 0, len(keys))
	for _, key := range keys {
		observed = append(observed, NodeObservation{Key: key, Mark: p.view.Begin(p.opts.Now())})
	}
	return observed
}

func (p *Poller) fetchOne(ctx context.Context, s *NodeObservation) (err error) {
	s.Node, s.Found, err = p.source.Node(ctx, s.Key)
	return err
}

// fetchWanted adds the nodes that the View wants but does not need. The poll is complete
// without them, so a failure costs only that fetch; all of them together have one
// pause's time, because the poll grows older meanwhile. It fetches no node that the lists show.
func (p *Poller) fetchWanted(ctx context.Context, observed *Observation) {
	wanted := p.view.Wanted(p.opts.Now())
	if len(wanted) == 0 {
		return
	}
	done := make(map[string]bool, len(observed.Fetched)+2*len(observed.Nodes))
	for _, fetched := range observed.Fetched {
		done[fetched.Key] = true
	}
	for _, n := range observed.Nodes {
		done[n.UUID], done[n.Name] = true, true
	}
	var keys []string
	for _, key := range wanted[:min(len(wanted), maxWanted)] {
		if !done[key] {
			done[key] = true
			keys = append(keys, key)
		}
	}
	observed.Fetched = append(observed.Fetched, p.tryFetch(ctx, keys)...)
}

// tryFetch reads nodes and returns those that were answered within one pause.
func (p *Poller) tryFetch(ctx context.Context, keys []string) []NodeObservation {
	ctx, cancel := context.WithTimeout(ctx, max(p.opts.Interval, minWantedTimeout))
	defer cancel()
	var reads errgroup.Group
	reads.SetLimit(p.opts.AtOnce)
	observed := p.marked(keys)
	failed := make([]bool, len(keys))
	for i := range observed {
		reads.Go(func() error {
			if err := p.fetchOne(ctx, &observed[i]); err != nil {
				failed[i] = true
				p.count(func(s *PollStats) { s.WantedFailed++ })
				p.opts.Log.Debug("a node that was asked about could not be fetched", "node", keys[i], "error", err)
			}
			return nil
		})
	}
	_ = reads.Wait() // none fails it
	answered := observed[:0]
	for i, o := range observed {
		if !failed[i] {
			answered = append(answered, o)
		}
	}
	return answered
}
