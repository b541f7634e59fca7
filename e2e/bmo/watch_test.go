//go:build e2e

package bmo

import (
	"context"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// shown is what a BareMetalHost shows.
type shown struct {
	state, operational, message string
	errors                      int64
}

// hostWatch follows the BareMetalHosts of some namespaces. It is safe for concurrent use.
type hostWatch struct {
	mu      sync.Mutex
	hosts   map[string]shown // by namespace/name
	changes int
	// worst is the highest errorCount, and said counts the messages, since reset.
	worst int64
	said  map[string]int
	// delayed is how many are so now, and most the highest of that since reset.
	delayed, most int
}

// watchHosts follows them until the test ends.
func watchHosts(t *testing.T, namespaces []string) *hostWatch {
	w := &hostWatch{hosts: map[string]shown{}, said: map[string]int{}}
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { end(); running.Wait() })
	for _, namespace := range namespaces {
		running.Go(func() {
			for ctx.Err() == nil {
				w.follow(ctx, namespace)
			}
		})
	}
	return w
}

// follow lists the hosts of a namespace and then hears of each change, until that ends.
func (w *hostWatch) follow(ctx context.Context, namespace string) {
	at := cluster.Hosts(namespace)
	list, err := at.List(ctx, metav1.ListOptions{})
	if err != nil {
		wait(ctx, time.Second)
		return
	}
	for i := range list.Items {
		w.see(&list.Items[i])
	}
	events, err := at.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		wait(ctx, time.Second)
		return
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		o, ok := e.Object.(*unstructured.Unstructured)
		switch {
		case !ok || e.Type == watch.Error:
			return
		case e.Type == watch.Deleted:
			w.forget(o)
		default:
			w.see(o)
		}
	}
}

func (w *hostWatch) see(o *unstructured.Unstructured) {
	var s shown
	s.state, _, _ = unstructured.NestedString(o.Object, "status", "provisioning", "state")
	s.operational, _, _ = unstructured.NestedString(o.Object, "status", "operationalStatus")
	s.message, _, _ = unstructured.NestedString(o.Object, "status", "errorMessage")
	s.errors, _, _ = unstructured.NestedInt64(o.Object, "status", "errorCount")
	w.mu.Lock()
	defer w.mu.Unlock()
	key := o.GetNamespace() + "/" + o.GetName()
	before, known := w.hosts[key]
	if known && before == s {
		return
	}
	if s.message != "" && before.message != s.message {
		w.said[s.message]++
	}
	w.hosts[key] = s
	w.changes++
	w.delayed += count(s) - count(before)
	w.most = max(w.most, w.delayed)
	w.worst = max(w.worst, s.errors)
}

func (w *hostWatch) forget(o *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := o.GetNamespace() + "/" + o.GetName()
	w.delayed -= count(w.hosts[key])
	delete(w.hosts, key)
	w.changes++
}

// count is 1 for a host that is delayed.
func count(s shown) int {
	if s.operational == "delayed" {
		return 1
	}
	return 0
}

// mostDelayed is how many hosts were delayed at once since the last call.
func (w *hostWatch) mostDelayed() (most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	most, w.most = w.most, w.delayed
	return most
}

// now is what the hosts show, and how many changes that took.
func (w *hostWatch) now() (hosts map[string]shown, changes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	hosts = make(map[string]shown, len(w.hosts))
	for name, s := range w.hosts {
		hosts[name] = s
	}
	return hosts, w.changes
}

// errors are those since the last call: the highest errorCount, and the messages.
func (w *hostWatch) errors() (worst int64, said map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	worst, said = w.worst, w.said
	w.worst, w.said = 0, map[string]int{}
	return worst, said
}

// wait waits for d unless ctx ends first.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
