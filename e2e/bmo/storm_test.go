//go:build e2e

package bmo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	hostsOfAStorm, limit, workers = 12, 3, 8
	farAbove                      = 1000            // PROVISIONING_LIMIT of an operator that is not to limit itself
	patience                      = 5 * time.Minute // in which nothing changes
	step                          = 500 * time.Millisecond
)

// A storm is a real operator, a real Ironic whose hardware is pretended, and the product between them.
type storm struct {
	*testing.T
	ironic      *realironic.Ironic
	truth       truth
	throttle    *child.Throttle
	environment []string // of the throttle, with the same addresses through all of its lives
	namespaces  []string
	hosts       []host
	deleted     []host
	since       time.Time // the begin of the phase
}

// host is one of a storm.
type host struct{ namespace, name string }

func (h host) String() string { return h.namespace + "/" + h.name }

// object names its BareMetalHost.
func (h host) object() *unstructured.Unstructured { return realkube.Host(h.namespace, h.name) }

// A phase is what all hosts are to do, where they come to, and what strikes meanwhile, once a third has begun.
type phase struct {
	name, goal string
	begin      func(s *storm, n int, h host)
	strike     func(*storm)
}

var phases = []phase{
	{"inspect", "available", (*storm).register, (*storm).killThrottle},
	{"provision", "provisioned", func(s *storm, _ int, h host) {
		cluster.Merge(s.T, h.object(), `{"spec": {"image": {"url": "http://127.0.0.1:9/image.qcow2", "format": "qcow2",
			"checksum": "`+strings.Repeat("0a", 32)+`", "checksumType": "sha256"}}}`)
	}, (*storm).deleteWaiting},
	{"deprovision", "available", func(s *storm, _ int, h host) { cluster.Merge(s.T, h.object(), `{"spec": {"image": null}}`) }, (*storm).killThrottle},
}

// register makes the secret of a BMC and the BareMetalHost. The address is nobody's: Ironic
// only pretends to speak to it.
func (s *storm) register(n int, h host) {
	s.Helper()
	cluster.ApplyText(s.T, fmt.Sprintf(`
{apiVersion: v1, kind: Secret, metadata: {name: %[2]s-bmc, namespace: %[1]s}, stringData: {username: admin, password: none}}
---
{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: %[2]s, namespace: %[1]s},
 spec: {online: true, bootMACAddress: "52:54:00:00:00:%02[3]x", automatedCleaningMode: metadata,
  bmc: {address: "ipmi://127.0.0.1:%[4]d", credentialsName: %[2]s-bmc}}}`, h.namespace, h.name, n, 40000+n))
}

// TestStormThroughTheGateway: an operator that knows nothing of the throttle. Never more nodes work than the
// limit, by Ironic's own database, also when the throttle is killed; no host has an error; a deleted host leaves
// the queue.
func TestStormThroughTheGateway(t *testing.T) { play(t, false) }

// TestStormWithThePlugin is the same with an operator that asks.
func TestStormWithThePlugin(t *testing.T) {
	if _, err := os.Stat(filepath.Join(assets, "plugins", "throttled-provisioner.so")); err != nil {
		t.Skipf("make plugin, and a BMO_ASSETS with it and its operator: %v", err)
	}
	play(t, true)
}

func play(t *testing.T, asks bool) {
	s := raise(t, asks)
	for _, p := range phases {
		s.since = time.Now()
		for n, h := range s.hosts {
			p.begin(s, n, h)
		}
		s.finish(p)
		t.Logf("%s: %.0f s, at most %d nodes busy at once", p.name, time.Since(s.since).Seconds(), s.peak())
	}
	if peak := s.peak(); peak != limit {
		t.Errorf("at most %d nodes were busy at once, want the limit %d: no more, and all slots used", peak, limit)
	}
}

// raise starts everything that a storm needs. Hosts come with the first phase: two thirds in one namespace, the rest in
// another.
func raise(t *testing.T, asks bool) *storm {
	t.Helper()
	s := &storm{T: t, namespaces: []string{cluster.Namespace(t, "a"), cluster.Namespace(t, "b")}}
	for i := range hostsOfAStorm {
		s.hosts = append(s.hosts, host{s.namespaces[min(1, i/(hostsOfAStorm*2/3))], fmt.Sprintf("host-%03d", i)})
	}
	var err error
	if s.ironic, err = realironic.Start(t.Context(), realironic.Options{Root: realironic.Chroot(), Pretend: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.ironic.Stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Ironic's log:\n%s", s.ironic.Logs())
		}
	})
	s.watch()
	at := addresses(t, 2)
	s.environment = []string{
		"IRONIC_ENDPOINT=" + s.ironic.URL + "/v1/", "KUBECONFIG=" + account(t, s.namespaces[0], "throttle"),
		"POD_NAMESPACE=" + s.namespaces[0], "POD_NAME=throttle", "WATCH_NAMESPACE=" + strings.Join(s.namespaces, ","),
		fmt.Sprintf("MAX_CONCURRENT_PROVISIONING_HOSTS=%d", limit), fmt.Sprintf("BMO_CONCURRENCY=%d", workers),
		"IRONIC_THROTTLE_KUBERNETES=on", "IRONIC_THROTTLE_LINGER=15s",
		"IRONIC_THROTTLE_LISTEN_ADDRESS=" + at[0], "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS=" + at[1],
	}
	s.start()
	endpoint, throttle := s.throttle.At.Gateway, ""
	if asks {
		endpoint, throttle = s.ironic.URL, s.throttle.At.API
	}
	operate(t, endpoint, throttle, s.namespaces, farAbove, workers)
	return s
}

// start begins a life of the throttle, and returns when it decides.
func (s *storm) start() {
	s.Helper()
	s.throttle = child.ServeThrottle(s.T, product, s.environment...).Settled()
	child.Await(s.T, step, patience, "throttle that is ready", s.throttle.Ready, s.throttle.Log.Tail)
}

// killThrottle is kill -9, and a start at the same addresses.
func (s *storm) killThrottle() {
	s.throttle.Kill()
	s.start()
}

// shown is what a BareMetalHost shows.
type shown struct {
	state, message string
	errors         int64
}

// shows are the BareMetalHosts, by namespace/name.
func (s *storm) shows() map[string]shown {
	s.Helper()
	all := map[string]shown{}
	for _, namespace := range s.namespaces {
		for _, o := range cluster.List(s.T, "metal3.io/v1alpha1", "BareMetalHostList", namespace) {
			var h shown
			h.state, _, _ = unstructured.NestedString(o.Object, "status", "provisioning", "state")
			h.message, _, _ = unstructured.NestedString(o.Object, "status", "errorMessage")
			h.errors, _, _ = unstructured.NestedInt64(o.Object, "status", "errorCount")
			all[namespace+"/"+o.GetName()] = h
		}
	}
	return all
}

// finish waits until all hosts are at their goal, as long as something changes, and lets the phase's fault strike.
func (s *storm) finish(p phase) {
	s.Helper()
	last, before, struck := time.Now(), "", false
	err := child.Every(s.Context(), step, func() (bool, error) {
		shown := s.shows()
		if now := fmt.Sprint(shown, len(s.changes())); now != before {
			last, before = time.Now(), now
		}
		if !struck && 3*len(s.begun()) >= len(s.hosts) {
			struck = true
			p.strike(s)
			last = time.Now()
		}
		var away []string
		for _, h := range s.hosts {
			got := shown[h.String()]
			if got.state != p.goal {
				away = append(away, fmt.Sprintf("%s is %s", h, got.state))
			}
			if got.errors > 0 || got.message != "" {
				return false, fmt.Errorf("%s has %d errors: %s", h, got.errors, got.message)
			}
		}
		for _, h := range s.deleted {
			if _, there := shown[h.String()]; there {
				away = append(away, h.String()+" is not deleted yet")
			}
		}
		if len(away) > 0 && time.Since(last) > patience {
			return false, fmt.Errorf("nothing has changed for %s; not at their goal: %s", patience, strings.Join(away, "; "))
		}
		return len(away) == 0, nil
	})
	if err == nil && !struck {
		err = errors.New("all was over before the fault struck")
	}
	if err != nil {
		s.Fatalf("%s: %v", p.name, err)
	}
}

// peak is how many nodes were busy at once, at most, until now. What one sample has seen came about together.
func (s *storm) peak() (peak int) {
	busy := map[string]bool{}
	changes := s.changes()
	for i, c := range changes {
		if delete(busy, c.uuid); ironic.State(c.state).Busy() {
			busy[c.uuid] = true
		}
		if i+1 == len(changes) || changes[i+1].at.After(c.at) {
			peak = max(peak, len(busy))
		}
	}
	return peak
}

// begun are the nodes that have begun work in this phase.
func (s *storm) begun() map[string]bool {
	begun := map[string]bool{}
	for _, c := range s.changes() {
		if c.at.After(s.since) && ironic.State(c.state).Busy() {
			begun[c.name] = true
		}
	}
	return begun
}

// queued are the nodes of the hosts that wait, by name.
func (s *storm) queued() map[string]bool {
	s.Helper()
	queue, err := s.throttle.Client.Queue(s.Context(), api.QueueQuery{Limit: 1000})
	if err != nil {
		s.Fatal(err)
	}
	all := map[string]bool{}
	for _, p := range queue.Pools {
		for _, h := range p.Hosts {
			all[h.Name] = true
		}
	}
	return all
}

// deleteWaiting deletes the BareMetalHosts of two that wait for their turn, the last of the queue. The operator keeps a
// deleted one until it has taken it out of Ironic; then it leaves the queue.
func (s *storm) deleteWaiting() {
	s.Helper()
	node := func(h host) string { return h.namespace + "~" + h.name }
	child.Await(s.T, step, patience, "hosts that wait", func() bool {
		begun, queued := s.begun(), s.queued()
		s.deleted = nil
		for _, h := range slices.Backward(s.hosts) {
			if len(s.deleted) < 2 && !begun[node(h)] && queued[node(h)] {
				s.deleted = append(s.deleted, h)
			}
		}
		return len(s.deleted) == 2
	}, func() string { return fmt.Sprint(s.deleted) })
	for _, h := range s.deleted {
		s.hosts = slices.DeleteFunc(s.hosts, func(other host) bool { return other == h })
		if err := cluster.Client.Delete(s.Context(), h.object()); err != nil {
			s.Fatal(err)
		}
	}
	child.Await(s.T, step, patience, "deleted hosts gone from the queue", func() bool {
		queued := s.queued()
		return !slices.ContainsFunc(s.deleted, func(h host) bool { return queued[node(h)] })
	}, func() string { return fmt.Sprint(s.queued()) })
}
