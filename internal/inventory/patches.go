package inventory

import (
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// patches are the states that polls have observed, to be laid over lists that were begun
// before them: the last one of each node. Safe for concurrent use.
type patches struct {
	// maxAge is the age from which a patch is of no use: a list that was begun before it
	// is not given out any more by then.
	maxAge time.Duration

	mu    sync.Mutex       // guards the rest
	seen  map[string]patch // by UUID
	swept time.Time
}

type patch struct {
	state ironic.State
	seq   uint64 // of the mark before it was seen
	at    time.Time
}

// take notes what a poll has observed, and reports whether that is anything. Where nobody
// wants a list nothing is kept.
func (p *patches) take(now time.Time, o ironic.Observation, wanted bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !wanted {
		p.seen = nil
		return false
	}
	if p.seen == nil {
		p.seen, p.swept = map[string]patch{}, now
	}
	for _, n := range o.Nodes {
		p.put(n.UUID, patch{n.State, o.Mark.Seq, now})
	}
	for _, s := range o.Fetched {
		if s.Found {
			p.put(s.Node.UUID, patch{s.Node.State, s.Mark.Seq, now})
		}
	}
	p.sweep(now)
	return len(o.Nodes)+len(o.Fetched) > 0
}

func (p *patches) put(uuid string, next patch) {
	if next.state == "" {
		return // unreadable: what is known stands until the next list
	}
	if last, ok := p.seen[uuid]; !ok || next.seq >= last.seq {
		p.seen[uuid] = next
	}
}

// sweep drops what is too old to be of use.
func (p *patches) sweep(now time.Time) {
	if age := now.Sub(p.swept); age >= 0 && age < p.maxAge {
		return
	}
	p.swept = now
	for uuid, s := range p.seen {
		if age := now.Sub(s.at); age < 0 || age > p.maxAge {
			delete(p.seen, uuid)
		}
	}
}

// over lays the patches over a list. It leaves out those that the list, begun later,
// knows better.
func (p *patches) over(base *ironic.Catalog) *ironic.Catalog {
	p.mu.Lock()
	begun := base.Begun().Seq
	var later []ironic.Seen
	for uuid, s := range p.seen {
		if s.seq > begun {
			later = append(later, ironic.Seen{UUID: uuid, State: s.state, Seq: s.seq})
		}
	}
	p.mu.Unlock()
	if len(later) == 0 {
		return base
	}
	return base.With(later)
}
