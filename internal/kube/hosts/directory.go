// Package hosts watches the BareMetalHosts of a cluster and keeps of each what the throttle decides by. The directory
// never fails because of the cluster: it answers with what it knows, says once what is wrong, and goes on trying.
package hosts

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Options is what New needs.
type Options struct {
	Config *rest.Config
	// Namespaces are those whose hosts are watched, each by a watch of its own; none: all, by one watch.
	Namespaces []string
	// Changed is told of every change after the directory shows it: old is nil when the host appeared, now when it
	// went. A host that was made again under its old name (another UID) goes first and then appears. It is called by
	// the watches' goroutines, one call at a time; while it runs, they wait. It may ask the directory.
	Changed func(old, now *Host)
	Log     *slog.Logger
}

// Directory knows the BareMetalHosts. Make one with New; its methods are safe for concurrent use.
type Directory struct {
	scopes  []*scope
	changed func(old, now *Host)

	turn sync.Mutex // held while a change is shown and told: one at a time, in order

	mu    sync.RWMutex // guards what follows
	names map[key]*Host
	nodes map[string][]*Host // by NodeUUID: nearly always one host, the last is the one that changed last
}

// New checks the options and asks the cluster nothing.
func New(o Options) (*Directory, error) {
	d := &Directory{changed: o.Changed, names: map[key]*Host{}, nodes: map[string][]*Host{}}
	client, err := newClient(o.Config)
	if err != nil {
		return nil, fmt.Errorf("hosts: %w", err)
	}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(o.Namespaces))) {
		d.scopes = append(d.scopes, newScope(d, client, n, o.Log.With("namespace", n)))
	}
	if len(d.scopes) == 0 {
		d.scopes = []*scope{newScope(d, client, "", o.Log)}
	}
	return d, nil
}

// Run watches until ctx ends, and returns nil then. No answer of the cluster makes it return. Call it once.
func (d *Directory) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, s := range d.scopes {
		all.Go(func() { wait.JitterUntilWithContext(ctx, s.follow, retry, 1, true) })
	}
	all.Wait()
	return nil
}

// ByName returns the host of that name.
func (d *Directory) ByName(namespace, name string) (Host, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if h := d.names[key{namespace, name}]; h != nil {
		return *h, true
	}
	return Host{}, false
}

// ByNode returns the host of the node with that UUID, in upper or lower case. Of several with one node, which BMO
// does not make, it is the one that changed last; of such in several namespaces none: whoever may write hosts of one
// could else speak for those of another.
func (d *Directory) ByNode(uuid string) (Host, bool) {
	uuid = strings.ToLower(uuid)
	d.mu.RLock()
	defer d.mu.RUnlock()
	of := d.nodes[uuid]
	if len(of) == 0 {
		return Host{}, false
	}
	last := of[len(of)-1]
	if slices.ContainsFunc(of, func(h *Host) bool { return h.Namespace != last.Namespace }) {
		return Host{}, false
	}
	return *last, true
}

// Knows reports whether a host of the namespace that ByName does not find is not there: the namespace was listed, and
// its watch is well.
func (d *Directory) Knows(namespace string) bool {
	for _, s := range d.scopes {
		if s.namespace == "" || s.namespace == namespace {
			listed, fault, _ := s.state()
			return listed && fault == ""
		}
	}
	return false
}

// Status tells how the directory is doing. LastError is of the watch that is broken longest.
func (d *Directory) Status() api.Cluster {
	d.mu.RLock()
	out := api.Cluster{Hosts: len(d.names), Synced: true}
	d.mu.RUnlock()
	for _, s := range d.scopes {
		listed, fault, since := s.state()
		out.Synced = out.Synced && listed
		if fault != "" && (out.LastError == "" || since.Before(*out.BrokenSince)) {
			out.LastError, out.BrokenSince = fault, &since
		}
	}
	return out
}

// set shows a host in the place of the one of that name.
func (d *Directory) set(now *Host) {
	d.turn.Lock()
	defer d.turn.Unlock()
	old := d.names[now.key()] // nobody else changes it in our turn
	switch {
	case now.Name == "", old != nil && *old == *now:
	case old != nil && old.UID != now.UID:
		d.replace(old, now)
		d.changed(old, nil)
		d.changed(nil, now)
	default:
		d.replace(old, now)
		d.changed(old, now)
	}
}

func (d *Directory) drop(h *Host) {
	d.turn.Lock()
	defer d.turn.Unlock()
	if old := d.names[h.key()]; old != nil {
		d.replace(old, nil)
		d.changed(old, nil)
	}
}

// keep drops the hosts of a namespace, "" of all, that a complete list does not have.
func (d *Directory) keep(namespace string, listed map[key]bool) {
	var gone []*Host
	d.mu.RLock()
	for k, h := range d.names {
		if !listed[k] && (namespace == "" || namespace == k.namespace) {
			gone = append(gone, h)
		}
	}
	d.mu.RUnlock()
	for _, h := range gone {
		d.drop(h)
	}
}

// replace shows now in the place of old; nil: none.
func (d *Directory) replace(old, now *Host) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old != nil {
		delete(d.names, old.key())
		others := slices.DeleteFunc(d.nodes[old.NodeUUID], func(h *Host) bool { return h == old })
		if d.nodes[old.NodeUUID] = others; len(others) == 0 {
			delete(d.nodes, old.NodeUUID)
		}
	}
	if now != nil {
		d.names[now.key()] = now
		if now.NodeUUID != "" {
			d.nodes[now.NodeUUID] = append(d.nodes[now.NodeUUID], now)
		}
	}
}
