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
	"k8s.io/client-go/tools/cache"

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

	turn  sync.Mutex    // held while a change is shown and told: one at a time, in order
	hosts cache.Indexer // each a *Host, which is not changed any more
}

// byNode is the index of hosts by their NodeUUID.
const byNode = "node"

func newIndexer() cache.Indexer {
	key := func(of any) (string, error) {
		h, _ := of.(*Host)
		return h.key(), nil
	}
	node := func(of any) ([]string, error) {
		if h, _ := of.(*Host); h.NodeUUID != "" {
			return []string{h.NodeUUID}, nil
		}
		return nil, nil
	}
	return cache.NewIndexer(key, cache.Indexers{byNode: node})
}

// New checks the options and asks the cluster nothing.
func New(o Options) (*Directory, error) {
	d := &Directory{changed: o.Changed, hosts: newIndexer()}
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
	if h := d.at(namespace + "/" + name); h != nil {
		return *h, true
	}
	return Host{}, false
}

func (d *Directory) at(key string) *Host {
	found, _, _ := d.hosts.GetByKey(key)
	h, _ := found.(*Host)
	return h
}

// ByNode returns the host of the node with that UUID, in upper or lower case. Of several with one node, which BMO does not
// make, it is none: whoever may write hosts of one namespace could else speak for those of another.
func (d *Directory) ByNode(uuid string) (Host, bool) {
	if of, err := d.hosts.ByIndex(byNode, strings.ToLower(uuid)); err == nil && len(of) == 1 {
		h, ok := of[0].(*Host)
		return *h, ok
	}
	return Host{}, false
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
	out := api.Cluster{Hosts: len(d.hosts.ListKeys()), Synced: true}
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
	old := d.at(now.key()) // nobody else changes it in our turn
	if now.Name == "" || old != nil && *old == *now {
		return
	}
	_ = d.hosts.Add(now) // every host has a key
	if old != nil && old.UID != now.UID {
		d.changed(old, nil)
		old = nil
	}
	d.changed(old, now)
}

func (d *Directory) drop(h *Host) {
	d.turn.Lock()
	defer d.turn.Unlock()
	if old := d.at(h.key()); old != nil {
		_ = d.hosts.Delete(old)
		d.changed(old, nil)
	}
}

// keep drops the hosts of a namespace, "" of all, that a complete list does not have.
func (d *Directory) keep(namespace string, listed map[string]bool) {
	for _, shown := range d.hosts.List() {
		if h, ok := shown.(*Host); ok && !listed[h.key()] && (namespace == "" || namespace == h.Namespace) {
			d.drop(h)
		}
	}
}
