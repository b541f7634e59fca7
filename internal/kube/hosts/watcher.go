package hosts

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Between two lists there is a pause of 1 to 2 seconds, then twice as long each time, up to
// a minute (the jitter on retryMost); after retryReset without a list it begins anew.
const (
	retryFirst = time.Second
	retryMost  = 30 * time.Second
	retryReset = 2 * time.Minute
)

// maxTold bounds how many faults of objects are told: each one is told once.
const maxTold = 100

// watcher keeps the directory equal to the hosts of one namespace ("": of all). Lists and
// watches follow each other, so its methods never run at the same time but for the reading
// of a watch's stream.
type watcher struct {
	dir       *Directory
	client    rest.Interface
	namespace string
	health    health
	pulse     pulse

	listing sync.Mutex      // held while a list is read
	lists   uint32          // the number of the last list, which marks what it has seen
	listed  bool            // one was complete
	checks  bool            // this one shows whether the watches were silent for want of news
	news    bool            // it has found some
	told    map[string]bool // faults of objects
}

func newWatcher(d *Directory, client rest.Interface, namespace string) *watcher {
	log := d.log
	if namespace != "" {
		log = log.With("namespace", namespace)
	}
	return &watcher{
		dir: d, client: client, namespace: namespace, told: map[string]bool{},
		health: health{log: log, now: d.now},
	}
}

func (w *watcher) request() *rest.Request {
	return w.client.Get().NamespaceIfScoped(w.namespace, w.namespace != "").Resource(resource)
}

// pagedLists keeps the Reflector from taking the first list as a watch that streams it
// (WatchList). Read off the wire one by one, neither form needs memory of ours. The paged
// list is the one that every API server has, without a feature gate and a second way to
// fall back to, and it can be shown while it is read.
type pagedLists struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is what client-go asks for, whatever its gates say.
func (pagedLists) IsWatchListSemanticsUnSupported() bool { return true }

// run lists and watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	// The Reflector tells its log about each attempt. We tell ours what matters, once.
	ctx = klog.NewContext(ctx, logr.Discard())
	source := pagedLists{&cache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.watch}}
	reflector := cache.NewReflectorWithOptions(source, &object{}, w, cache.ReflectorOptions{
		Name: resource, TypeDescription: resource,
	})
	pause := wait.Backoff{
		Duration: retryFirst, Factor: 2, Jitter: 1, Steps: math.MaxInt32, Cap: retryMost,
	}.DelayWithReset(clock.RealClock{}, retryReset)
	for ctx.Err() == nil {
		_ = reflector.ListAndWatchWithContext(ctx) // list and watch have told health
		select {
		case <-ctx.Done():
		case <-time.After(max(pause(), w.pulse.pause())):
		}
	}
	w.listing.Lock()
	w.listing.Unlock() //nolint:gocritic,staticcheck // only to wait: the Reflector leaves a list that ctx ends alone
}

// show puts a host into the directory.
func (w *watcher) show(o *object) {
	if w.reads(o) && w.dir.put(o.host, w.lists) {
		w.news = true
	}
}

// reads reports whether the object is a host of ours, and tells what is wrong with it. One
// that is odd does not stop the others.
func (w *watcher) reads(o *object) bool {
	switch {
	case o.host.Name == "" || o.host.Namespace == "":
		w.tell(o, errors.New("metadata: without a name and a namespace it is passed over"))
		return false
	case w.namespace != "" && o.host.Namespace != w.namespace:
		w.tell(o, errors.New("metadata.namespace: not the one that was asked for, it is passed over"))
		return false
	case o.fault != nil:
		w.tell(o, o.fault)
	}
	return true
}

func (w *watcher) tell(o *object, fault error) {
	id := o.host.Namespace + "/" + o.host.Name + " " + fault.Error()
	if w.told[id] || len(w.told) >= maxTold {
		return
	}
	w.told[id] = true
	w.health.log.Warn("a BareMetalHost is not as it should be",
		slog.String("namespace", o.host.Namespace), slog.String("name", o.host.Name), slog.Any("error", fault))
}

// What follows is the cache.ReflectorStore.

// Add shows a host that appeared.
func (w *watcher) Add(obj any) error { return w.Update(obj) }

// Update shows a host that changed.
func (w *watcher) Update(obj any) error {
	if o, ok := obj.(*object); ok {
		w.show(o)
	}
	return nil
}

// Delete takes a host out.
func (w *watcher) Delete(obj any) error {
	if o, ok := obj.(*object); ok && w.reads(o) {
		w.dir.drop(key{o.host.Namespace, o.host.Name})
	}
	return nil
}

// Replace ends a list, of which it is given nothing: list has shown the hosts. Those that
// it did not see went.
func (w *watcher) Replace([]any, string) error {
	if w.dir.sweep(w.namespace, w.lists) {
		w.news = true
	}
	if w.checks {
		w.checked()
	}
	if !w.listed {
		w.listed = true
		w.dir.synced()
		w.health.log.Info("BareMetalHosts are listed", "hosts", w.dir.Status().Hosts)
	}
	return nil
}

// checked tells what a list has found that silent watches were followed by.
func (w *watcher) checked() {
	w.checks = false
	switch quietIsWell := w.pulse.listed(); {
	case w.news:
		w.health.failsInside(errMissed)
	case quietIsWell:
		w.health.mends(errMissed)
	}
}

// Resync has nothing to do.
func (w *watcher) Resync() error { return nil }
