//go:build e2e

package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// leaderLabel is what the Service selects of the pods.
const leaderLabel = "ironic-throttle.metal3.io/role"

const (
	stormHosts, stormSlots = 60, 8
	// pause is for how long a process is stopped: more than two leases.
	pause = 40 * time.Second
	// lateAct is how long after a yes the work of some hosts begins: less than LINGER and the settling, more than the
	// lease, so that the next leader is there in between.
	lateAct = 6500 * time.Millisecond
)

// seat is the place of one replica: its pod, its way to the API server and its way to Ironic.
type seat struct {
	pod   string
	proxy *realkube.Proxy
	env   settings
	lives atomic.Int32
	now   atomic.Pointer[throttle]
}

// life names the process that is there now.
func (at *seat) life() string { return fmt.Sprintf("%s.%d", at.pod, at.lives.Load()) }

// storm is a fleet whose hosts are provisioned and deprovisioned for ever through the gateways of two replicas.
type storm struct {
	*testing.T
	ironic    *fakeIronic
	namespace string
	nodes     []string
	seats     []*seat
	late      atomic.Int32 // so many PUTs are acted on late

	mu     sync.Mutex
	lives  []string // that have sent work to Ironic, in their order
	broken []string // work that was sent by one that another had followed
}

// sent notes that a life has sent work to Ironic: they do so one after the other.
func (s *storm) sent(life string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch at := slices.Index(s.lives, life); {
	case at < 0:
		s.lives = append(s.lives, life)
	case at < len(s.lives)-1:
		s.broken = append(s.broken, life)
	}
}

// leads is the life that has begun to send work last.
func (s *storm) leads() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lives) == 0 {
		return ""
	}
	return s.lives[len(s.lives)-1]
}

// front is what a replica is told to be Ironic. It takes its time to carry work out, as a real one does, also when the
// sender is gone by then.
func (s *storm) front(at *seat) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/states/provision") {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // it never came in
			}
			s.sent(at.life())
			r = r.Clone(context.WithoutCancel(r.Context()))
			r.Body = io.NopCloser(bytes.NewReader(body))
			if s.late.Add(-1) >= 0 {
				wait(s.Context(), lateAct)
			}
		}
		s.ironic.ServeHTTP(w, r)
	})
}

// start begins a life of a replica.
func (s *storm) start(at *seat) {
	s.Helper()
	at.lives.Add(1)
	at.now.Store(serve(s.T, at.env))
}

// ask sends the work that a node wants to a replica, as BMO does whose request may hang there.
func (s *storm) ask(ctx context.Context, p *throttle, node string) {
	target := ""
	s.ironic.With(func(now time.Time, w *fakeironic.World) {
		n, _ := w.Node(now, node)
		target = map[ironic.State]string{ironic.Available: "active", ironic.Active: "deleted"}[n.State]
	})
	if target != "" {
		child.Send(ctx, http.MethodPut, p.At.Gateway+"/v1/nodes/"+node+"/states/provision", `{"target": "`+target+`"}`)
	}
}

// raiseStorm starts it all. A view of 60 s is fresh, which is longer than a pause: nothing but the fence is to keep a
// replica that wakes from saying yes.
func raiseStorm(t *testing.T) *storm {
	t.Helper()
	s := &storm{T: t, namespace: namespace(t, "leaders")}
	s.ironic = serveIronic(t, 8*time.Second, func(o *fakeironic.Options) { o.Limit = stormSlots })
	for i := range stormHosts {
		s.nodes = append(s.nodes, s.ironic.node(t, fmt.Sprintf("tenant-%d~host-%03d", i%3, i)))
	}
	deploy(t, s.namespace, rights(t, highAvailability, s.namespace))
	for i := range 2 {
		at := &seat{pod: fmt.Sprint("replica-", i), proxy: cluster.Proxy(t)}
		makePod(t, s.namespace, at.pod)
		front := httptest.NewServer(s.front(at))
		t.Cleanup(front.Close)
		at.env = clustered(front.URL, kubeconfigOf(t, s.namespace, account, at.proxy.URL), s.namespace).with(settings{
			"MAX_CONCURRENT_PROVISIONING_HOSTS": fmt.Sprint(stormSlots), "POD_NAME": at.pod,
			ours + "LEADER_ELECT": "true", ours + "LINGER": "9s", ours + "POLL_INTERVAL": "10s", ours + "LEASE_TTL": "30s",
			ours + "STATE": "configmap:ironic-throttle",
		})
		s.seats = append(s.seats, at)
		s.start(at)
	}
	ctx, end := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	t.Cleanup(func() { end(); asking.Wait() })
	for _, node := range s.nodes {
		asking.Go(func() {
			for ; ctx.Err() == nil; wait(ctx, time.Second+rand.N(time.Second)) {
				short, cancel := context.WithTimeout(ctx, 3*time.Second)
				s.ask(short, s.seats[rand.IntN(len(s.seats))].now.Load(), node)
				cancel()
			}
		})
	}
	return s
}

// leader waits for the replica that leads, and has filled the house.
func (s *storm) leader() (at *seat, p *throttle) {
	s.Helper()
	await(s.T, "leader that fills the slots", func() bool {
		for _, at = range s.seats {
			if s.leads() == at.life() && s.ironic.Truth().Working >= stormSlots-1 {
				p = at.now.Load()
				return p.Running()
			}
		}
		return false
	}, func() string { return fmt.Sprintf("%q; %+v", s.lives, s.ironic.Truth()) })
	return at, p
}

// another waits until another one than that life leads, and is what the Service selects, alone.
func (s *storm) another(life string) {
	s.Helper()
	var selected []string
	await(s.T, "another leader", func() bool {
		var pods core.PodList
		if err := cluster.Client.List(s.Context(), &pods, client.InNamespace(s.namespace), client.MatchingLabels{leaderLabel: "leader"}); err != nil {
			s.Fatal(err)
		}
		selected = nil
		for _, pod := range pods.Items {
			selected = append(selected, pod.Name)
		}
		return s.leads() != life && len(selected) == 1 && strings.HasPrefix(s.leads(), selected[0]+".")
	}, func() string { return fmt.Sprintf("%q; the pods %q are selected", s.lives, selected) })
}

// ends waits for the end of a replica that knows by now or soon that it no longer leads, and says so.
func (s *storm) ends(p *throttle) {
	s.Helper()
	await(s.T, "end of a process that no longer leads", func() bool { return !p.Running() }, p.Log.Tail)
	if len(p.Log.Lines("no longer leads")) == 0 || p.Err() == nil {
		s.Errorf("it ends with %v and does not say that it no longer leads:\n%s", p.Err(), p.Log.Tail())
	}
}

// TestLeadersAreKilledPausedAndCutOff changes the leader by all that can befall it. Hosts that really work never exceed
// the limit, one replica at a time decides, and the next one does.
func TestLeadersAreKilledPausedAndCutOff(t *testing.T) {
	t.Parallel()
	s := raiseStorm(t)
	for name, strike := range map[string]func(life string, at *seat, p *throttle){
		"kill -9": func(life string, _ *seat, p *throttle) { p.Kill(); s.another(life) },
		"paused": func(life string, _ *seat, p *throttle) { // it wakes when another one leads, with what it was asked meanwhile before it
			since := time.Now()
			p.Signal(syscall.SIGSTOP)
			s.another(life)
			var left sync.WaitGroup
			for _, node := range s.nodes {
				left.Go(func() { s.ask(t.Context(), p, node) })
			}
			wait(t.Context(), time.Until(since.Add(pause)))
			p.Signal(syscall.SIGCONT)
			s.ends(p)
			left.Wait()
		},
		"cut off": func(life string, at *seat, p *throttle) { at.proxy.Swallow(); s.ends(p); s.another(life) },
		"refused": func(life string, at *seat, p *throttle) { at.proxy.Refuse(); s.ends(p); s.another(life) },
	} {
		at, p := s.leader()
		life := s.leads()
		s.late.Store(3)
		strike(life, at, p)
		at.proxy.Mend()
		s.start(at)
		await(t, "readiness of who was away", at.now.Load().Ready, at.now.Load().Log.Tail)
		truth := s.ironic.Truth()
		t.Logf("%s: %q; peak %d of %d, %d works begun", name, s.lives, truth.PeakWorking, stormSlots, truth.Started)
		if truth.PeakWorking > stormSlots || len(s.broken) > 0 {
			t.Errorf("%s: %d hosts worked at once, limit %d; work was sent by %q after another one", name, truth.PeakWorking, stormSlots, s.broken)
		}
	}
	s.leader() // it goes on
}
