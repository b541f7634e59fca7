package hosts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// After a failure there is a pause of 1 to 2 seconds, then twice as long each time, up to
// nearly a minute (the jitter on retryMost); after retryReset without a failure it begins anew.
const (
	retryFirst = time.Second
	retryMost  = 29 * time.Second
	retryReset = 2 * time.Minute
)

const (
	// pageLimit is the number of hosts that a page may have, some 5 MB of them. It is for
	// the API server's sake; we hold one host of a page at a time.
	pageLimit = 250
	// pageTimeout bounds one page, client-go's pauses for a server that is busy included.
	pageTimeout = time.Minute
	// maxTold bounds how many faults of objects are told: each one is told once.
	maxTold = 100
)

// watcher keeps the directory equal to the hosts of one namespace ("": of all): a list,
// then watches that go on where it ended, until only a list can tell what is there.
//
// It is no Reflector of client-go: that holds a whole list before it shows any of it, and
// where a page came too late it asks for everything in one answer, 300 MB of it.
type watcher struct {
	dir       *Directory
	client    rest.Interface
	namespace string
	health    health

	lists  uint32          // the number of the last list, which marks what it has seen
	listed bool            // one was complete
	news   bool            // lists since the last watch have found what no watch has told
	told   map[string]bool // faults of objects
}

func newWatcher(d *Directory, client rest.Interface, namespace string) *watcher {
	w := &watcher{dir: d, client: client, namespace: namespace, told: map[string]bool{}}
	w.health.log, w.health.now = d.log, d.now
	if namespace != "" {
		w.health.log, w.health.scope = d.log.With("namespace", namespace), "namespace "+namespace+": "
	}
	return w
}

func (w *watcher) request() *rest.Request {
	return w.client.Get().NamespaceIfScoped(w.namespace, w.namespace != "").Resource(resource)
}

// run lists and watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	ctx = klog.NewContext(ctx, logr.Discard()) // client-go would tell about each attempt
	pause := wait.Backoff{
		Duration: retryFirst, Factor: 2, Jitter: 1, Steps: math.MaxInt32, Cap: retryMost,
	}.DelayWithReset(clock.RealClock{}, retryReset)
	version := "" // none: a list is needed
	for ctx.Err() == nil {
		var err error
		if version == "" || w.health.due() {
			if version, err = w.list(ctx); err != nil && ctx.Err() == nil {
				w.health.fails(err, false)
			}
		} else {
			version, err = w.watch(ctx, version)
		}
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(max(pause(), w.health.pause())):
			}
		}
	}
}

// list reads all hosts of the namespace, page by page, and returns the version from which
// to watch. Each host is shown as it is read: one that is there, is there, even if the
// list comes to nothing later. Those that went are found after the last page.
//
// No resource version is asked for: a page limit counts nowhere else, with "0" or one of
// its own the server sends all hosts in one answer. It also makes the list newer than all
// that was seen before, so it may be shown while it is read.
//
// A continue token that expired fails the list, and a new one begins. The API offers to
// go on with what is there now; but then no resource version would tell from where to
// watch, and what changed between the two would be lost.
func (w *watcher) list(ctx context.Context) (version string, err error) {
	w.lists++
	for next := ""; ; {
		page, err := w.page(ctx, next)
		switch {
		case err != nil:
			return "", err
		case page.Continue == "":
			w.complete()
			return page.ResourceVersion, nil
		case page.Continue == next:
			return "", errors.New("a page of the list of BareMetalHosts refers to itself")
		}
		next = page.Continue
	}
}

// complete ends a list that has read all pages.
func (w *watcher) complete() {
	w.news = w.dir.sweep(w.namespace, w.lists) || w.news
	w.health.listed(w.news)
	w.news = false
	if !w.listed {
		w.listed = true
		w.dir.unlisted.Add(-1)
		w.health.log.Info("BareMetalHosts are listed", "hosts", w.dir.Status().Hosts)
	}
}

func (w *watcher) page(ctx context.Context, next string) (meta metav1.ListMeta, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	ask := w.request().Param("limit", strconv.Itoa(pageLimit))
	if next != "" {
		ask = ask.Param("continue", next)
	}
	body, err := ask.Stream(ctx)
	if err != nil {
		return meta, err
	}
	defer body.Close()
	meta, err = readPage(body, func(o object) { w.news = w.show(o) || w.news })
	if err != nil {
		return meta, fmt.Errorf("list of BareMetalHosts: %w", err)
	}
	return meta, nil
}

// show puts a host into the directory and reports whether that changed anything.
func (w *watcher) show(o object) bool {
	return w.reads(o) && w.dir.set(o.key(), &o.host, w.lists)
}

// reads reports whether the object is a host, and tells once what is wrong with it. One
// that is odd does not stop the others.
func (w *watcher) reads(o object) bool {
	named := o.host.Name != "" && o.host.Namespace != ""
	if !named {
		o.fault = errors.New("metadata: without a name and a namespace it is passed over")
	}
	if o.fault == nil {
		return true
	}
	if id := fmt.Sprint(o.key(), o.fault); !w.told[id] && len(w.told) < maxTold {
		w.told[id] = true
		w.health.log.Warn("a BareMetalHost is not as it should be", "namespace", o.host.Namespace, "name", o.host.Name, "error", o.fault)
	}
	return named
}
