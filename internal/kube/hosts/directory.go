package hosts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// Options is what New needs. All but Config may be left out.
type Options struct {
	Config *rest.Config
	// Namespaces are those whose hosts are watched, each by a watch of its own; none: all,
	// by one watch.
	Namespaces []string
	// Changed is told of every change after the directory shows it: old is nil when the
	// host appeared, now when it went. A host that was made anew under its old name (another
	// UID, BO-17) goes first and then appears. It is called by the watches' goroutines, one
	// call at a time; what it takes, the watch waits. It may ask the directory.
	Changed func(old, now *Host)
	Log     *slog.Logger     // nil: silent
	Now     func() time.Time // nil: time.Now
}

// Directory knows the BareMetalHosts. Make one with New; its methods are safe for
// concurrent use.
type Directory struct {
	watchers []*watcher
	changed  func(old, now *Host)
	log      *slog.Logger
	now      func() time.Time

	turn sync.Mutex // held while a change is shown and told: one at a time, in order

	mu       sync.RWMutex // guards what follows
	table    *table
	unlisted int // watchers that have no complete list yet
}

// New checks the options and asks the cluster nothing.
func New(o Options) (*Directory, error) {
	if o.Config == nil {
		return nil, errors.New("hosts: Config must be set")
	}
	d := &Directory{changed: o.Changed, log: o.Log, now: o.Now, table: newTable()}
	if d.changed == nil {
		d.changed = func(_, _ *Host) {}
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.now == nil {
		d.now = time.Now
	}
	client, err := newClient(o.Config)
	if err != nil {
		return nil, fmt.Errorf("hosts: %w", err)
	}
	scopes := slices.Compact(slices.Sorted(slices.Values(o.Namespaces)))
	for _, n := range scopes {
		if faults := validation.IsDNS1123Label(n); len(faults) > 0 {
			return nil, fmt.Errorf("hosts: namespace %q: %s", n, faults[0])
		}
	}
	if len(scopes) == 0 {
		scopes = []string{""}
	}
	for _, n := range scopes {
		d.watchers = append(d.watchers, newWatcher(d, client, n))
	}
	d.unlisted = len(d.watchers)
	return d, nil
}

// Run watches until ctx ends, and returns nil then; every goroutine it started has ended.
// No answer of the cluster makes it return. Call it once.
func (d *Directory) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, w := range d.watchers {
		all.Go(func() { w.run(ctx) })
	}
	all.Wait()
	return nil
}

// ByName returns the host of that name. It does not allocate.
func (d *Directory) ByName(namespace, name string) (Host, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.table.byName(namespace, name)
}

// ByNode returns the host of the node with that UUID, in upper or lower case. Of several
// with one node, which BMO does not make, it is the one that changed last. It does not
// allocate.
func (d *Directory) ByNode(uuid string) (Host, bool) {
	id, ok := parseUUID(uuid)
	if !ok {
		return Host{}, false
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.table.byNode(id)
}

// Synced reports whether every namespace was listed once, so that a host which is not
// known is not there. It stays true when a watch breaks later: see Status.
func (d *Directory) Synced() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.unlisted == 0
}

// Status tells how the directory is doing.
type Status struct {
	Hosts  int
	Errors map[string]int // hosts with an error by ErrorType
	Synced bool
	// LastError is what is wrong with the watch that is broken longest, BrokenSince since
	// when; "" and zero while all are well.
	LastError   string
	BrokenSince time.Time
}

// Status returns the state of this moment.
func (d *Directory) Status() Status {
	d.mu.RLock()
	s := Status{Hosts: d.table.len(), Errors: d.table.errorTypes(), Synced: d.unlisted == 0}
	d.mu.RUnlock()
	for _, w := range d.watchers {
		text, since := w.health.broken()
		if text != "" && (s.LastError == "" || since.Before(s.BrokenSince)) {
			if w.namespace != "" {
				text = "namespace " + w.namespace + ": " + text
			}
			s.LastError, s.BrokenSince = text, since
		}
	}
	return s
}

// BrokenSince tells since when the watch of a namespace is broken, zero while it is well;
// of "" it is Status's, that of the watch which is so for longest. It does not allocate and
// is cheap enough for each decision: what counts on a host, such as its ErrorCount, may
// have changed since.
func (d *Directory) BrokenSince(namespace string) time.Time {
	var longest time.Time
	for _, w := range d.watchers {
		if namespace != "" && w.namespace != "" && w.namespace != namespace {
			continue
		}
		if since := w.health.brokenSince(); !since.IsZero() && (longest.IsZero() || since.Before(longest)) {
			longest = since
		}
	}
	return longest
}

// put shows a host that a list, or the watch after it, has seen, and reports whether that
// changed anything.
func (d *Directory) put(h Host, list uint32) bool {
	d.turn.Lock()
	defer d.turn.Unlock()
	d.mu.Lock()
	old := d.table.put(h, list)
	d.mu.Unlock()
	switch {
	case old == nil:
		d.changed(nil, &h)
	case *old == h:
		return false
	case old.UID != h.UID:
		d.changed(old, nil)
		d.changed(nil, &h)
	default:
		d.changed(old, &h)
	}
	return true
}

// drop takes a host out.
func (d *Directory) drop(k key) {
	d.turn.Lock()
	defer d.turn.Unlock()
	d.mu.Lock()
	old := d.table.drop(k)
	d.mu.Unlock()
	if old != nil {
		d.changed(old, nil)
	}
}

// sweep takes out what a list has not seen, and reports whether there was any.
func (d *Directory) sweep(namespace string, list uint32) bool {
	d.mu.RLock()
	gone := d.table.unseen(namespace, list)
	d.mu.RUnlock()
	for _, k := range gone {
		d.drop(k)
	}
	return len(gone) > 0
}

func (d *Directory) synced() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unlisted--
}
