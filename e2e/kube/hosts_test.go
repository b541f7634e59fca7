//go:build e2e

package kube

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// each runs do for all hosts at once.
func (all *fleet) each(hosts []realkube.Host, do func(h realkube.Host)) {
	var asks sync.WaitGroup
	for _, h := range hosts {
		asks.Go(func() { do(h) })
	}
	asks.Wait()
}

// lanes maps the hosts that wait to their lanes.
func lanes(t *testing.T, c *api.Client) map[string]api.QueuedHost {
	t.Helper()
	q, err := c.Queue(t.Context(), api.QueueQuery{Limit: 1000})
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

// TestErrorCountsOfHostsDecide sends the work of many hosts through the gateway, which is told nothing of them but their
// nodes: what their BareMetalHosts say puts them into the right lane, at once when it changes, and they get Events.
func TestErrorCountsOfHostsDecide(t *testing.T) {
	t.Parallel()
	const hosts, limit, perMinute = 300, 5, 300
	ns := namespace(t, "system")
	f := serveIronic(t, 24*time.Hour)
	all := addFleet(t, f, 3, hosts, func(i int, h *realkube.Host) {
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
	for _, h := range all.hosts {
		if h.Finalizer {
			if err := cluster.Hosts(h.Namespace).Delete(t.Context(), h.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := serve(t, clustered(f.URL, deploy(t, ns, rights(t, filepath.Join(overlays, "standalone"), ns)), ns).with(settings{
		"MAX_CONCURRENT_PROVISIONING_HOSTS": fmt.Sprint(limit),
	}))
	s.isReady()
	await(t, "list of all hosts", func() bool { _, ok := s.log.Line("BareMetalHosts are listed"); return ok }, s.log.Tail)
	healthyFirst := slices.Clone(all.hosts) // so that none of the failing gets a slot
	slices.SortStableFunc(healthyFirst, func(a, b realkube.Host) int { return a.ErrorCount + a.FailCount - b.ErrorCount - b.FailCount })
	c := s.client()
	await(t, "full house", func() bool { code, _ := s.put(healthyFirst[0].NodeUUID, "active"); return code == http.StatusAccepted }, s.log.Tail)
	all.each(healthyFirst[1:], func(h realkube.Host) { s.put(h.NodeUUID, "active") })
	if got := f.Truth().Working; got != limit {
		t.Errorf("%d hosts work, want %d", got, limit)
	}
	waiting := lanes(t, c)
	if len(waiting) != hosts-limit {
		t.Errorf("%d hosts wait, want %d", len(waiting), hosts-limit)
	}
	for _, h := range all.hosts {
		got, waits := waiting[h.Namespace+"~"+h.Name]
		failing := max(h.ErrorCount, h.FailCount) >= 2 && !h.Finalizer
		if waits && (got.Lane == "failing") != failing {
			t.Errorf("%+v is in lane %s", h, got.Lane)
		}
	}
	for lane, change := range map[string]struct {
		of     realkube.Host
		status map[string]any
	}{
		"failing": {all.hosts[hosts-1], map[string]any{"errorCount": 3, "errorType": "provisioning error"}},
		"healthy": {all.hosts[hosts-9], map[string]any{"errorCount": 0, "errorType": nil}},
	} {
		h := change.of
		if err := cluster.PatchStatus(t.Context(), h.Namespace, h.Name, change.status); err != nil {
			t.Fatal(err)
		}
		await(t, "lane "+lane+" for "+h.Name, func() bool {
			s.put(h.NodeUUID, "active")
			return lanes(t, c)[h.Namespace+"~"+h.Name].Lane == lane
		}, s.log.Tail)
	}
	all.haveEvents(perMinute / 2)
	if line, found := s.log.Line("forbidden"); found {
		t.Error(line)
	}
}

// haveEvents waits for so many Events, each of which is about one of the hosts, and of another one.
func (all *fleet) haveEvents(least int) {
	all.Helper()
	uids := map[string]bool{}
	for _, ns := range all.namespaces {
		found, err := cluster.Hosts(ns).List(all.Context(), metav1.ListOptions{})
		if err != nil {
			all.Fatal(err)
		}
		for _, o := range found.Items {
			uids[string(o.GetUID())] = true
		}
	}
	var events []core.Event
	await(all.T, "Events", func() bool {
		events = nil
		for _, ns := range all.namespaces {
			found, err := asAdministrator(all.T).CoreV1().Events(ns).List(all.Context(), metav1.ListOptions{})
			if err != nil {
				all.Fatal(err)
			}
			events = append(events, found.Items...)
		}
		return len(events) >= least
	}, func() string { return fmt.Sprint(len(events)) })
	for _, e := range events {
		o := e.InvolvedObject
		if o.Kind != "BareMetalHost" || o.APIVersion != "metal3.io/v1alpha1" || !uids[string(o.UID)] || e.Reason != "ProvisioningWaiting" ||
			e.Message == "" || e.ReportingController != "ironic-throttle" || e.ReportingInstance != "ironic-throttle-0" {
			all.Errorf("%+v", e)
		}
		delete(uids, string(o.UID))
	}
}
