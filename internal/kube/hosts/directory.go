// Package hosts watches the BareMetalHosts of a cluster and keeps of each only what the
// throttle decides by: who it is, where it stands, how often it failed, and what its
// people have written on it.
//
// A BareMetalHost is 5 to 30 kB of JSON, nearly all of it hardware details. With 20,000 of
// them no two may be in memory at once: lists are asked for in pages, each object is
// shortened to a Host of some 300 bytes as it is read off the wire, and what a list finds
// unchanged costs nothing. So a list, the first or one after the watch broke, needs no
// memory to speak of besides the directory itself.
//
// The directory never fails because of the cluster. Whatever goes wrong, it answers with
// what it knows, says once what is the matter, and goes on trying. A watch that is open is
// no proof that it is heard: see health.
package hosts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	// UID) goes first and then appears. It is called by the watches' goroutines, one
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

	unlisted atomic.Int32 // watchers that have no complete list yet
	turn     sync.Mutex   // held while a change is shown and told: one at a time, in order

	mu     sync.RWMutex // guards what follows
	names  map[key]*entry
	nodes  map[string][]*entry // by NodeUUID: nearly always of one, the last is the one that changed last
	errors map[string]int      // hosts by ErrorType
}

type key struct{ namespace, name string }

// entry is one host in the directory.
type entry struct {
	host Host
	seen uint32 // the list that saw it last
}

// New checks the options and asks the cluster nothing.
func New(o Options) (*Directory, error) {
	if o.Config == nil {
		return nil, errors.New("hosts: Config must be set")
	}
	d := &Directory{
		changed: o.Changed, log: o.Log, now: o.Now,
		names: map[key]*entry{}, nodes: map[string][]*entry{}, errors: map[string]int{},
	}
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
		d.unlisted.Add(1)
	}
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
	if e := d.names[key{namespace, name}]; e != nil {
		return e.host, true
	}
	return Host{}, false
}

// ByNode returns the host of the node with that UUID, in upper or lower case. Of several
// with one node, which BMO does not make, it is the one that changed last; of such in several
// namespaces none: whoever may write hosts of one could else speak for those of another. In lower
// case it does not allocate.
func (d *Directory) ByNode(uuid string) (Host, bool) {
	uuid = strings.ToLower(uuid)
	d.mu.RLock()
	defer d.mu.RUnlock()
	of := d.nodes[uuid]
	if len(of) == 0 {
		return Host{}, false
	}
	last := of[len(of)-1].host
	for _, e := range of {
		if e.host.Namespace != last.Namespace {
			return Host{}, false
		}
	}
	return last, true
}

// Watches reports whether the hosts of a namespace are watched.
func (d *Directory) Watches(namespace string) bool {
	return slices.ContainsFunc(d.watchers, func(w *watcher) bool { return w.namespace == "" || w.namespace == namespace })
}

// Status tells how the directory is doing.
type Status struct {
	Hosts  int
	Errors map[string]int // hosts with an error by ErrorType
	// Synced is whether every namespace was listed once, so that a host which is not known
	// is not there. It stays true when a watch breaks later.
	Synced bool
	// LastError is what is wrong with the watch that is broken longest, BrokenSince since
	// when; "" and zero while all are well.
	LastError   string
	BrokenSince time.Time
}

// Status returns the state of this moment.
func (d *Directory) Status() Status {
	d.mu.RLock()
	s := Status{Hosts: len(d.names), Errors: maps.Clone(d.errors), Synced: d.unlisted.Load() == 0}
	d.mu.RUnlock()
	if t := d.trouble(""); t != nil {
		s.LastError, s.BrokenSince = t.text, t.since
	}
	return s
}

// BrokenSince tells since when the watch of a namespace is broken, zero while it is well;
// of "" it is Status's, that of the watch which is so for longest. It does not allocate and
// is cheap enough for each decision: what counts on a host, such as its ErrorCount, may
// have changed since.
func (d *Directory) BrokenSince(namespace string) time.Time {
	if t := d.trouble(namespace); t != nil {
		return t.since
	}
	return time.Time{}
}

func (d *Directory) trouble(namespace string) (longest *trouble) {
	for _, w := range d.watchers {
		if namespace != "" && w.namespace != "" && w.namespace != namespace {
			continue
		}
		if t := w.health.trouble.Load(); t != nil && (longest == nil || t.since.Before(longest.since)) {
			longest = t
		}
	}
	return longest
}

// set shows a host, seen by a list or the watch after it, in the place of the one of that
// name; nil: none. It reports whether that changed anything.
func (d *Directory) set(k key, now *Host, list uint32) bool {
	d.turn.Lock()
	defer d.turn.Unlock()
	old := d.replace(k, now, list)
	switch {
	case old == nil && now == nil, old != nil && now != nil && *old == *now:
		return false
	case old != nil && now != nil && old.UID != now.UID:
		d.changed(old, nil)
		d.changed(nil, now)
	default:
		d.changed(old, now)
	}
	return true
}

func (d *Directory) replace(k key, now *Host, list uint32) (old *Host) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.names[k]; e != nil {
		if old = &e.host; now != nil && *old == *now {
			e.seen = list
			return old
		}
		d.unlinkLocked(k, e)
	}
	if now == nil {
		return old
	}
	e := &entry{host: *now, seen: list}
	d.names[k] = e
	if now.NodeUUID != "" {
		d.nodes[now.NodeUUID] = append(d.nodes[now.NodeUUID], e)
	}
	if now.ErrorType != "" {
		d.errors[now.ErrorType]++
	}
	return old
}

func (d *Directory) unlinkLocked(k key, e *entry) {
	delete(d.names, k) // also where another comes: the key's text goes with the host
	node, kind := e.host.NodeUUID, e.host.ErrorType
	d.nodes[node] = slices.DeleteFunc(d.nodes[node], func(o *entry) bool { return o == e })
	if len(d.nodes[node]) == 0 {
		delete(d.nodes, node)
	}
	if d.errors[kind]--; d.errors[kind] <= 0 {
		delete(d.errors, kind)
	}
}

// sweep takes out the hosts of a namespace ("": of all) that a list has not seen, and
// reports whether there was any.
func (d *Directory) sweep(namespace string, list uint32) bool {
	var gone []key
	d.mu.RLock()
	for k, e := range d.names {
		if e.seen != list && (namespace == "" || namespace == k.namespace) {
			gone = append(gone, k)
		}
	}
	d.mu.RUnlock()
	for _, k := range gone {
		d.set(k, nil, list)
	}
	return len(gone) > 0
}
