package inventory

import (
	"maps"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/snapshot"
)

// patches are the states that polls have observed, the last one of each node, and what they make of the list that they are
// laid over. Safe for concurrent use.
type patches struct {
	// maxAge is the age from which a patch is of no use: a list that was begun before it is not given out any more by then.
	maxAge time.Duration

	mu    sync.Mutex       // guards the rest
	seen  map[string]patch // by UUID
	list  *snapshot.Snapshot[list]
	shown View // list with the patches; no Catalog: to be made
}

type patch struct {
	state ironic.State
	mark  ironic.Mark // before it was seen
}

// take notes what a poll has observed. Where nobody wants a list nothing is kept.
func (p *patches) take(now time.Time, o ironic.Observation, wanted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown.Catalog = nil
	if !wanted {
		p.seen = nil
		return
	}
	if p.seen == nil {
		p.seen = map[string]patch{}
	}
	for _, n := range o.Nodes {
		p.put(n, o.Mark)
	}
	for _, s := range o.Fetched {
		if s.Found {
			p.put(s.Node, s.Mark)
		}
	}
	maps.DeleteFunc(p.seen, func(_ string, s patch) bool {
		age := now.Sub(s.mark.At)
		return age < 0 || age > p.maxAge
	})
}

func (p *patches) put(n ironic.Node, mark ironic.Mark) {
	// A state that cannot be read changes nothing: what is known stands until the next list.
	if last, ok := p.seen[n.UUID]; n.State != "" && (!ok || mark.Seq >= last.mark.Seq) {
		p.seen[n.UUID] = patch{n.State, mark}
	}
}

// over lays the patches over a list, once for each list and poll. It leaves out those that the list, begun later, knows better.
func (p *patches) over(base *snapshot.Snapshot[list]) View {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list == base && p.shown.Catalog != nil {
		return p.shown
	}
	later := map[string]ironic.State{}
	for uuid, s := range p.seen {
		if s.mark.Seq > base.Value().begun.Seq {
			later[uuid] = s.state
		}
	}
	p.list, p.shown = base, View{Catalog: base.Value().With(later), Listed: base.Begun()}
	return p.shown
}
