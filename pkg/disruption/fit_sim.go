package disruption

import (
	"context"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// fleetSim simulates one cluster.
type fleetSim struct {
	c       *cluster
	pods    map[string]*Pod
	waiting bool
}

// move is a pod that gets another node.
type move struct {
	pod *Pod
	api.PlanMove
}

// placement is where the pods of nodes that go would go.
type placement struct {
	moves     []move
	usedSpare bool
	blocked   string
}

// planMoves are the moves as a plan tells them.
func (p *placement) planMoves() (all []api.PlanMove) {
	for _, m := range p.moves {
		all = append(all, m.PlanMove)
	}
	return all
}

func newSimulator(ctx context.Context, s *State, target func(n *Node) bool) (*fleetSim, error) {
	c, err := newCluster(ctx, s, target)
	f := &fleetSim{c: c, pods: map[string]*Pod{}}
	for i := range s.Pods {
		q := &s.Pods[i]
		f.pods[q.String()] = q
		f.waiting = f.waiting || q.Node == "" && !q.Bound()
	}
	return f, err
}

func (f *fleetSim) residents(n *Node) []*Pod { return f.c.residents(n.Name) }
func (f *fleetSim) stuck(n *Node) string     { return f.c.stuck(n.Name) }
func (f *fleetSim) waits(*Node) bool         { return f.waiting }

func (f *fleetSim) without(ctx context.Context, going []*Node, spare *Node) (placement, error) {
	names := make([]string, len(going))
	for i, n := range going {
		names[i] = n.Name
	}
	at, err := f.c.without(ctx, names, spare)
	p := placement{usedSpare: at.usedSpare, blocked: at.blocked}
	for _, m := range at.moves {
		p.moves = append(p.moves, move{f.pods[m.Pod], m})
	}
	return p, err
}
