package inventory

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/snapshot"
)

// Source reads the list of all nodes; ironic.Client does.
type Source interface {
	Catalog(ctx context.Context) (*ironic.Catalog, error)
}

// Options is what New needs.
type Options struct {
	Source Source
	// Begin returns a mark in the order of the polls: admission.Controller.Begin.
	Begin  func(now time.Time) ironic.Mark
	MaxAge time.Duration    // how old a list may be that Get returns, > 0
	Now    func() time.Time // the clock of the marks
	Log    *slog.Logger     // nil: silent
}

const (
	// listTimeout is several times what a list of 100,000 nodes takes: Ironic needs 0.2 ms for a node
	// (docs/dev/reference/ironic.md).
	listTimeout = 2 * time.Minute
	// afterFault is the pause after a list that failed: it may have cost Ironic much work, and callers can do without it.
	afterFault = 30 * time.Second
)

// View is the list of all nodes. The nodes and their order never change; At returns the newest provision states. It is
// safe for concurrent use.
type View struct {
	list
	Listed time.Time // when its list was begun: no state is older
	nodes  *Inventory
}

// list is a list as Ironic sent it.
type list struct {
	*ironic.Catalog
	begun ironic.Mark
}

// At returns node i of 0 to Len()-1.
func (v View) At(i int) ironic.Entry {
	e := v.Catalog.At(i)
	v.nodes.mu.Lock()
	defer v.nodes.mu.Unlock()
	if s, ok := v.nodes.seen[e.UUID]; ok && s.mark.Seq > v.begun.Seq { // else the list is newer
		e.State = s.state
	}
	return e
}

// Inventory keeps the list of all nodes. Make one with New; it is safe for concurrent use. Close ends its goroutines.
type Inventory struct {
	opts  Options
	lists *snapshot.Cache[struct{}, list]

	mu   sync.Mutex          // guards the rest
	seen map[string]sighting // the last state of each node that a poll has observed, by UUID
}

type sighting struct {
	state ironic.State
	mark  ironic.Mark // of the observation, from before its request
}

// New returns an Inventory. It sends nothing to Ironic yet.
func New(o Options) (*Inventory, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	v := &Inventory{opts: o, seen: map[string]sighting{}}
	var err error
	if v.lists, err = snapshot.New(snapshot.Options[struct{}, list]{
		List: v.list, MaxAge: o.MaxAge, Retry: afterFault, Ahead: true, Now: o.Now,
	}); err != nil {
		return nil, fmt.Errorf("list of all nodes: %w", err)
	}
	return v, nil
}

func (v *Inventory) list(ctx context.Context, _ struct{}) (list, error) {
	inTime, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	begun := v.opts.Begin(v.opts.Now())
	all, err := v.opts.Source.Catalog(inTime)
	if err != nil && ctx.Err() == nil {
		v.opts.Log.Warn("Ironic returns no list of all nodes", "error", err)
	}
	return list{all, begun}, err
}

// Get returns the list of all nodes, begun at most MaxAge ago. If there is none, it waits for one, until ctx ends. All
// callers wait for the same list, which the Inventory reads to its end even when all callers have gone. For 30 s after
// a failure, Get returns its error at once.
func (v *Inventory) Get(ctx context.Context) (View, error) {
	got, err := v.lists.Get(ctx, struct{}{})
	if err != nil {
		return View{}, fmt.Errorf("list of all nodes: %w", err)
	}
	return View{list: got.Value(), Listed: got.Begun(), nodes: v}, nil
}

// Observe takes the observation of a complete poll. It keeps it as long as Get may return a list that was begun before.
func (v *Inventory) Observe(now time.Time, o ironic.Observation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, n := range o.Nodes {
		v.seeLocked(n, o.Mark)
	}
	for _, f := range o.Fetched {
		if f.Found {
			v.seeLocked(f.Node, f.Mark)
		}
	}
	maps.DeleteFunc(v.seen, func(_ string, s sighting) bool {
		age := now.Sub(s.mark.At)
		return age < 0 || age > v.opts.MaxAge+listTimeout
	})
}

func (v *Inventory) seeLocked(n ironic.Node, mark ironic.Mark) {
	// A state that cannot be read changes nothing: the last known one counts until the next list.
	if last, ok := v.seen[n.UUID]; n.State != "" && (!ok || mark.Seq >= last.mark.Seq) {
		v.seen[n.UUID] = sighting{n.State, mark}
	}
}

// Stats counts the calls of Get and the lists since New.
func (v *Inventory) Stats() snapshot.Stats { return v.lists.Stats() }

// Close ends a list that is on its way. Get fails from then on.
func (v *Inventory) Close() { v.lists.Close() }
