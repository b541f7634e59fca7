// Package hosts watches the BareMetalHosts of a cluster, and keeps of each what the throttle decides by. When the
// cluster fails, the directory answers with what it knows, logs once what is wrong, and keeps trying.
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
	// Namespaces are those to watch, each with its own watch; none: the whole cluster, with one watch.
	Namespaces []string
	// Changed is called for every change, after the directory shows it: old is nil when the host appeared, now is nil
	// when it went. A host that somebody made again under its old name (another UID) goes first, then appears. The
	// goroutines of the watches call it, one at a time, and wait for it. It may ask the directory.
	Changed func(old, now *Host)
	Log     *slog.Logger
}

// Directory knows the BareMetalHosts. Make one with New; its methods are safe for concurrent use.
type Directory struct {
	scopes  []*scope
	changed func(old, now *Host)

	turn  sync.Mutex    // held while the directory makes a change and calls changed: one at a time, in order
	hosts cache.Indexer // each is a *Host that nobody changes
}

// byNode is the index of hosts by their NodeUUID.
const byNode = "node"

func newIndexer() cache.Indexer {
	key := func(item any) (string, error) {
		h, _ := item.(*Host)
		return h.key(), nil
	}
	node := func(item any) ([]string, error) {
		if h, _ := item.(*Host); h.NodeUUID != "" {
			return []string{h.NodeUUID}, nil
		}
		return nil, nil
	}
	return cache.NewIndexer(key, cache.Indexers{byNode: node})
}

// New returns a Directory. It sends nothing to the cluster yet.
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

// Run watches until ctx ends, and then returns nil. No answer of the cluster ends it. Call it once.
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

// ByNode returns the host of the node with that UUID, in upper or lower case. It returns none of several hosts with one
// node, which BMO never makes: else whoever may write hosts of one namespace could speak for those of another.
func (d *Directory) ByNode(uuid string) (Host, bool) {
	if found, err := d.hosts.ByIndex(byNode, strings.ToLower(uuid)); err == nil && len(found) == 1 {
		h, ok := found[0].(*Host)
		return *h, ok
	}
	return Host{}, false
}

// Knows reports whether a host of the namespace that ByName does not find does not exist: the directory has listed the
// namespace, and its watch works.
func (d *Directory) Knows(namespace string) bool {
	for _, s := range d.scopes {
		if s.namespace == "" || s.namespace == namespace {
			listed, fault, _ := s.state()
			return listed && fault == ""
		}
	}
	return false
}

// Status returns the state of the directory. LastError is that of the watch that has been broken for the longest time.
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

// set replaces the host of that name, or adds it.
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
