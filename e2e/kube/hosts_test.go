//go:build e2e

package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// fleet is a number of BareMetalHosts with their nodes, in several namespaces.
type fleet struct {
	*testing.T
	namespaces []string
	hosts      []realkube.Host
}

// addFleet makes so many, evenly over new namespaces. shape says what is special about a
// host; names, namespace and node are there already.
func addFleet(t *testing.T, f *fakeIronic, namespaces, hosts int, shape func(i int, h *realkube.Host)) *fleet {
	t.Helper()
	all := &fleet{T: t}
	for range namespaces {
		all.namespaces = append(all.namespaces, namespace(t, "fleet"))
	}
	for i := range hosts {
		h := realkube.Host{Namespace: all.namespaces[i%namespaces], Name: fmt.Sprintf("host-%05d", i)}
		h.NodeUUID = f.node(t, h.Namespace+"~"+h.Name)
		shape(i, &h)
		all.hosts = append(all.hosts, h)
	}
	if err := cluster.AddHosts(t.Context(), all.hosts); err != nil {
		t.Fatal(err)
	}
	return all
}

// each runs do for all hosts, several at a time.
func (all *fleet) each(hosts []realkube.Host, do func(h realkube.Host)) {
	var workers sync.WaitGroup
	queue := make(chan realkube.Host)
	for range 8 {
		workers.Go(func() {
			for h := range queue {
				do(h)
			}
		})
	}
	for _, h := range hosts {
		queue <- h
	}
	close(queue)
	workers.Wait()
}

// churn patches the status of random hosts as BMO does all the time, until stopped.
func (all *fleet) churn(every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(all.Context())
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for on := false; ; on = !on {
			h := all.hosts[rand.IntN(len(all.hosts))]
			err := cluster.PatchStatus(ctx, h.Namespace, h.Name, map[string]any{"poweredOn": on, "lastUpdated": time.Now().UTC().Format(time.RFC3339)})
			if err != nil && ctx.Err() == nil {
				all.Error(err)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() { cancel(); running.Wait() }
}

// lanes maps the hosts that wait to their lanes.
func lanes(t *testing.T, c *api.Client) map[string]api.QueuedHost {
	t.Helper()
	q, err := c.Queue(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	waiting := map[string]api.QueuedHost{}
	for _, p := range q.Pools {
		if p.Pool == "" {
			for _, h := range p.Hosts {
				waiting[h.Name] = h
			}
		}
	}
	return waiting
}

// TestErrorCountsOfHostsDecide sends the work of many hosts through the gateway, which
// is told nothing of them but their nodes: what their BareMetalHosts say puts them into
// the right lane, and they get Events within the budget.
func TestErrorCountsOfHostsDecide(t *testing.T) {
	t.Parallel()
	const hosts, asking, limit, perMinute = 2000, 900, 5, 60
	ns := namespace(t, "system")
	f := serveIronic(t, 24*time.Hour)
	all := addFleet(t, f, 3, hosts, func(i int, h *realkube.Host) {
		h.HardwareBytes = 2 << 10
		switch i % 10 {
		case 1:
			h.ErrorCount, h.ErrorType = 2, "provisioning error"
		case 2:
			h.FailCount = 3
		case 3:
			h.ErrorCount = 1
		case 4:
			h.ErrorCount, h.Finalizer = 5, i < 50
		}
	})
	deleted := map[string]bool{}
	for _, h := range all.hosts {
		if h.Finalizer {
			deleted[h.Namespace+"~"+h.Name] = true
			if err := cluster.Hosts(h.Namespace).Delete(t.Context(), h.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := serve(t, clustered(f.URL, deploy(t, ns, rights(t, filepath.Join(overlays, "standalone"), ns)), ns).with(settings{
		"MAX_CONCURRENT_PROVISIONING_HOSTS": fmt.Sprint(limit), ours + "EVENTS_PER_MINUTE": fmt.Sprint(perMinute),
	}))
	s.isReady()
	await(t, "list of all hosts", func() bool { _, ok := s.log.Line("BareMetalHosts are listed"); return ok }, s.log.Tail)
	stop := all.churn(20 * time.Millisecond)
	defer stop()

	begun := time.Now()
	askers := all.hosts[:asking]
	healthyFirst := slices.Clone(askers) // so that none of the failing gets a slot
	slices.SortStableFunc(healthyFirst, func(a, b realkube.Host) int { return a.ErrorCount + a.FailCount - b.ErrorCount - b.FailCount })
	c := s.client()
	await(t, "full house", func() bool {
		code, _ := s.put(healthyFirst[0].NodeUUID, "active")
		return code == http.StatusAccepted
	}, s.log.Tail)
	all.each(healthyFirst[1:], func(h realkube.Host) {
		if code, body := s.put(h.NodeUUID, "active"); code != http.StatusAccepted && code != http.StatusConflict {
			t.Errorf("%s/%s: %d %s", h.Namespace, h.Name, code, body)
		}
	})
	if got := f.Truth().Working; got != limit {
		t.Errorf("%d hosts work, want %d", got, limit)
	}
	waiting := lanes(t, c)
	if len(waiting) != asking-limit {
		t.Errorf("%d hosts wait, want %d", len(waiting), asking-limit)
	}
	for _, h := range askers {
		got, waits := waiting[h.Namespace+"~"+h.Name]
		if !waits {
			continue
		}
		want := "healthy"
		if max(h.ErrorCount, h.FailCount) >= 2 && !deleted[got.Name] {
			want = "failing"
		}
		if got.Lane != want {
			t.Errorf("%s with errorCount %d, provisioningFailCount %d, deleted %t: lane %s, want %s",
				got.Name, h.ErrorCount, h.FailCount, deleted[got.Name], got.Lane, want)
		}
	}

	// What changes in the cluster changes the lane.
	for lane, change := range map[string]struct {
		of     realkube.Host
		status map[string]any
	}{
		"failing": {all.hosts[asking-1], map[string]any{"errorCount": 3, "errorType": "provisioning error"}},
		"healthy": {all.hosts[asking-9], map[string]any{"errorCount": 0, "errorType": nil}},
	} {
		h, name := change.of, change.of.Namespace+"~"+change.of.Name
		if before := lanes(t, c)[name].Lane; before == lane {
			t.Errorf("%s is in lane %s already", name, lane)
		}
		if err := cluster.PatchStatus(t.Context(), h.Namespace, h.Name, change.status); err != nil {
			t.Fatal(err)
		}
		await(t, "lane "+lane+" for "+name, func() bool {
			s.put(h.NodeUUID, "active")
			return lanes(t, c)[name].Lane == lane
		}, s.log.Tail)
	}

	awaitFor(t, 2*time.Minute, "end of the second minute of Events", func() bool {
		return time.Since(begun) > 75*time.Second
	}, s.log.Tail)
	stop()
	if line, found := s.log.Line("forbidden"); found {
		t.Error(line)
	}
	all.eventsWithin(perMinute)
}

// eventsWithin looks at the Events of all hosts: whom they are about, and how many there
// are. Stamps have whole seconds.
func (all *fleet) eventsWithin(perMinute int) {
	all.Helper()
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		all.Fatal(err)
	}
	var at []time.Time
	perHost := map[string][]time.Time{}
	for _, ns := range all.namespaces {
		uids := map[string]string{}
		found, err := cluster.Hosts(ns).List(all.Context(), metav1.ListOptions{})
		if err != nil {
			all.Fatal(err)
		}
		for _, o := range found.Items {
			uids[o.GetName()] = string(o.GetUID())
		}
		events, err := client.CoreV1().Events(ns).List(all.Context(), metav1.ListOptions{})
		if err != nil {
			all.Fatal(err)
		}
		for _, e := range events.Items {
			all.aboutHost(e, uids)
			at = append(at, e.CreationTimestamp.Time)
			key := ns + "/" + e.InvolvedObject.Name
			perHost[key] = append(perHost[key], e.CreationTimestamp.Time)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	all.Logf("%d Events about %d hosts", len(at), len(perHost))
	if len(at) < perMinute/2 {
		all.Errorf("%d Events, want about %d a minute", len(at), perMinute)
	}
	for i := range at {
		if i >= perMinute+1 && at[i].Sub(at[i-perMinute-1]) < 58*time.Second {
			all.Errorf("%d Events within %v, want at most %d a minute", perMinute+2, at[i].Sub(at[i-perMinute-1]), perMinute)
			break
		}
	}
	for host, when := range perHost {
		slices.SortFunc(when, time.Time.Compare)
		for i := range when[1:] {
			if gap := when[i+1].Sub(when[i]); gap < 58*time.Second {
				all.Errorf("%s: two Events within %v", host, gap)
			}
		}
	}
}

func (all *fleet) aboutHost(e core.Event, uids map[string]string) {
	all.Helper()
	o := e.InvolvedObject
	if o.Kind != "BareMetalHost" || o.APIVersion != "metal3.io/v1alpha1" || string(o.UID) != uids[o.Name] || uids[o.Name] == "" {
		all.Errorf("Event about %+v, want the BareMetalHost with uid %s", o, uids[o.Name])
	}
	if e.Reason == "" || e.Message == "" || e.ReportingController != "ironic-throttle" || e.ReportingInstance != "ironic-throttle-0" {
		all.Errorf("Event %q %q by %q, %q", e.Reason, e.Message, e.ReportingController, e.ReportingInstance)
	}
}

// patchSpec merges into the spec of a host.
func patchSpec(t *testing.T, namespace, name, spec string) error {
	_, err := cluster.Hosts(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec": `+spec+`}`), metav1.PatchOptions{})
	return err
}

// TestAHostWhoseMachineIsDeletedLeavesTheQueue at once: Cluster API Provider Metal3 first takes the image from the host, and
// the consumerRef when it is available again.
func TestAHostWhoseMachineIsDeletedLeavesTheQueue(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "system")
	f := serveIronic(t, 24*time.Hour)
	all := addFleet(t, f, 1, 4, func(_ int, h *realkube.Host) { h.State = "provisioning" })
	s := serve(t, clustered(f.URL, deploy(t, ns, rights(t, filepath.Join(overlays, "standalone"), ns)), ns).with(settings{
		"MAX_CONCURRENT_PROVISIONING_HOSTS": "1",
	}))
	s.isReady()
	await(t, "list of all hosts", func() bool { _, ok := s.log.Line("BareMetalHosts are listed"); return ok }, s.log.Tail)
	await(t, "full house", func() bool { code, _ := s.put(all.hosts[0].NodeUUID, "active"); return code == http.StatusAccepted }, s.log.Tail)
	all.each(all.hosts[1:], func(h realkube.Host) { s.put(h.NodeUUID, "active") })
	c := s.client()
	waits := func(want int) {
		t.Helper()
		awaitFor(t, 5*time.Second, fmt.Sprintf("%d hosts that wait", want), func() bool { return len(lanes(t, c)) == want }, s.log.Tail)
	}
	waits(3)
	claimed := `{"consumerRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3Machine", "name": "m-0", "namespace": "team"}}`
	for i, step := range []string{claimed, `{"image": null, "online": false}`, `{"consumerRef": null}`} {
		if err := patchSpec(t, all.namespaces[0], all.hosts[1].Name, step); err != nil {
			t.Fatal(err)
		}
		waits(3 - min(i, 1))
	}
	if err := cluster.Hosts(all.namespaces[0]).Delete(t.Context(), all.hosts[2].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waits(1)
}
