package inventory

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/snapshot"
)

// Source reads the list of all nodes: ironic.Client.
type Source interface {
	Catalog(ctx context.Context) (*ironic.Catalog, error)
}

// Options is what New needs; Now and Log may be nil.
type Options struct {
	Source Source
	// Begin takes a mark from whoever keeps the view: admission.Controller.Begin.
	Begin  func(now time.Time) ironic.Mark
	MaxAge time.Duration    // the age from which a list is not given out any more (LIST_MAX_AGE), > 0
	Now    func() time.Time // nil: time.Now; the clock of the marks
	Log    *slog.Logger     // nil: silent
}

const (
	// listTimeout is what a list of 100,000 nodes takes several times over: Ironic needs 0.2 ms for a node
	// (docs/dev/reference/ironic.md).
	listTimeout = 2 * time.Minute
	// afterFault is the pause after a list that failed: it may have taken Ironic long, and everybody can do without.
	afterFault = 30 * time.Second
)

// View is the list of all nodes as far as it is known. It never changes.
type View struct {
	*ironic.Catalog
	// Listed is when its list was begun. No node's state is older, most are younger.
	Listed time.Time
}

// Inventory is the list of all nodes. Make one with New; it is safe for concurrent use, and starts no goroutine that
// Close does not end.
type Inventory struct {
	opts  Options
	lists *snapshot.Cache[struct{}, list]

	mu      sync.Mutex // guards what follows
	asked   time.Time  // when somebody asked last
	failing bool
	seen    map[string]sighting // by UUID: the states that polls have observed, the last one of each node
	last    *snapshot.Snapshot[list]
	shown   View // last with what was seen since; no Catalog: to be made
}

// list is one as Ironic gave it.
type list struct {
	*ironic.Catalog
	begun ironic.Mark
}

type sighting struct {
	state ironic.State
	mark  ironic.Mark // before it was seen
}

// New asks Ironic nothing.
func New(o Options) (*Inventory, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	lists, err := snapshot.New(snapshot.Options[struct{}, list]{
		List: func(ctx context.Context, _ struct{}) (list, error) {
			begun := o.Begin(o.Now())
			all, err := o.Source.Catalog(ctx)
			return list{all, begun}, err
		},
		MaxAge: o.MaxAge, Retry: afterFault, ListTimeout: listTimeout, Ahead: true, Now: o.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("list of all nodes: %w", err)
	}
	return &Inventory{opts: o, lists: lists}, nil
}

// Get returns the list of all nodes, begun at most MaxAge ago. It waits for one where there is none, until ctx ends;
// all who wait, wait for the same one, and it is read to its end even when all of them have gone. For half a minute
// after a failure everybody gets its error at once.
func (v *Inventory) Get(ctx context.Context) (View, error) {
	v.mu.Lock()
	v.asked = v.opts.Now()
	v.mu.Unlock()
	got, err := v.lists.Get(ctx, struct{}{})
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil && !v.failing {
			v.failing = true
			v.opts.Log.Warn("the list of all nodes cannot be had", "error", err)
		}
		return View{}, fmt.Errorf("list of all nodes: %w", err)
	}
	if v.failing {
		v.failing = false
		v.opts.Log.Info("the list of all nodes is there again")
	}
	return v.viewLocked(got), nil
}

// Peek returns what there is, whatever its age; false when there is nothing. It asks nobody.
func (v *Inventory) Peek() (View, bool) {
	got, ok := v.lists.Peek(struct{}{})
	if !ok {
		return View{}, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.viewLocked(got), true
}

// viewLocked lays what polls have seen over a list, once for each list and poll. It leaves out what the list, begun
// later, knows better.
func (v *Inventory) viewLocked(got *snapshot.Snapshot[list]) View {
	if v.last == got && v.shown.Catalog != nil {
		return v.shown
	}
	later := map[string]ironic.State{}
	for uuid, s := range v.seen {
		if s.mark.Seq > got.Value().begun.Seq {
			later[uuid] = s.state
		}
	}
	v.last, v.shown = got, View{Catalog: got.Value().With(later), Listed: got.Begun()}
	return v.shown
}

// Observe takes what a complete poll has observed. It is kept while there is a list that somebody may get, or one on
// its way, and no longer than that may be given out.
func (v *Inventory) Observe(now time.Time, o ironic.Observation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shown.Catalog = nil
	useful := v.opts.MaxAge + listTimeout
	if v.asked.IsZero() || now.Sub(v.asked) > useful {
		v.seen = nil
		return
	}
	if v.seen == nil {
		v.seen = map[string]sighting{}
	}
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
		return age < 0 || age > useful
	})
}

func (v *Inventory) seeLocked(n ironic.Node, mark ironic.Mark) {
	// A state that cannot be read changes nothing: what is known stands until the next list.
	if last, ok := v.seen[n.UUID]; n.State != "" && (!ok || mark.Seq >= last.mark.Seq) {
		v.seen[n.UUID] = sighting{n.State, mark}
	}
}

// Stats counts what was asked and listed since New.
func (v *Inventory) Stats() snapshot.Stats { return v.lists.Stats() }

// Close ends a list that is on its way; Get fails from then on.
func (v *Inventory) Close() { v.lists.Close() }
