package inventory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
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
	Begin func(now time.Time) ironic.Mark
	// MaxAge is the age from which a list is not given out any more (LIST_MAX_AGE), > 0.
	MaxAge  time.Duration
	Timeout time.Duration    // bounds one list with all its pages; 0 means 2 minutes
	Now     func() time.Time // nil: time.Now; the clock of the marks
	Log     *slog.Logger     // nil: silent
}

// defaultTimeout is what a list of 100,000 nodes takes several times over: Ironic needs
// 0.2 ms for a node (docs/dev/reference/ironic.md).
const defaultTimeout = 2 * time.Minute

// afterFault is the pause after a list that failed: it may have taken Ironic long, and everybody can do without.
const afterFault = 30 * time.Second

// View is the list of all nodes as far as it is known. It never changes.
type View struct {
	*ironic.Catalog
	// Listed is when its list was begun. No node's state is older, most are younger.
	Listed time.Time
}

// list is one as Ironic gave it.
type list struct {
	*ironic.Catalog
	begun ironic.Mark
}

// Inventory is the list of all nodes. Make one with New; it is safe for concurrent use,
// and starts no goroutine that Close does not end.
type Inventory struct {
	now     func() time.Time
	log     *slog.Logger
	lists   *snapshot.Cache[struct{}, list]
	patches patches
	asked   atomic.Int64 // when somebody asked last, in nanoseconds of the clock; 0: never
	failing atomic.Bool
}

// New checks the options; the error names the one that is wrong. It asks Ironic nothing.
func New(o Options) (*Inventory, error) {
	if o.Source == nil || o.Begin == nil {
		return nil, errors.New("inventory: Source and Begin must be set")
	}
	if o.MaxAge <= 0 || o.Timeout < 0 {
		return nil, fmt.Errorf("inventory: max age %v must be positive, timeout %v not negative", o.MaxAge, o.Timeout)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	v := &Inventory{now: o.Now, log: o.Log, patches: patches{maxAge: o.MaxAge + o.Timeout}}
	if v.now == nil {
		v.now = time.Now
	}
	if v.log == nil {
		v.log = slog.New(slog.DiscardHandler)
	}
	var err error
	v.lists, err = snapshot.New(snapshot.Options[struct{}, list]{
		List: func(ctx context.Context, _ struct{}) (list, error) {
			begun := o.Begin(v.now())
			all, err := o.Source.Catalog(ctx)
			return list{all, begun}, err
		},
		MaxAge: o.MaxAge, Retry: afterFault, ListTimeout: o.Timeout, Ahead: true, Now: v.now,
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Get returns the list of all nodes, begun at most MaxAge ago. It waits for one where
// there is none, until ctx ends; all who wait, wait for the same one, and it is read to
// its end even when all of them have gone. For half a minute after a failure everybody
// gets its error at once.
func (v *Inventory) Get(ctx context.Context) (View, error) {
	v.asked.Store(v.now().UnixNano())
	got, err := v.lists.Get(ctx, struct{}{})
	if err != nil {
		if ctx.Err() == nil && !v.failing.Swap(true) {
			v.log.Warn("the list of all nodes cannot be had", "error", err)
		}
		return View{}, fmt.Errorf("list of all nodes: %w", err)
	}
	if v.failing.Swap(false) {
		v.log.Info("the list of all nodes is there again")
	}
	return v.patches.over(got), nil
}

// Peek returns what there is, whatever its age; false when there is nothing. It asks
// nobody.
func (v *Inventory) Peek() (View, bool) {
	got, ok := v.lists.Peek(struct{}{})
	if !ok {
		return View{}, false
	}
	return v.patches.over(got), true
}

// Observe takes what a complete poll has observed.
func (v *Inventory) Observe(now time.Time, o ironic.Observation) {
	at := v.asked.Load()
	wanted := at != 0 && now.Sub(time.Unix(0, at)) <= v.patches.maxAge // a list is there, or on its way, that somebody may get
	v.patches.take(now, o, wanted)
}

// Stats counts what was asked and listed since New.
func (v *Inventory) Stats() snapshot.Stats { return v.lists.Stats() }

// Close ends a list that is on its way; Get fails from then on.
func (v *Inventory) Close() { v.lists.Close() }
