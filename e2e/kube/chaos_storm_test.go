//go:build e2e

package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/bmo"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// What the storm is like. A yes is acted on within longestAct and the few requests round it:
// less than LINGER and the settling, more than the lease, so that the next leader
// is there in between now and then.
const (
	stormHosts  = 120
	stormSlots  = 8
	stormAskers = 32 // workers of the operator
	lateActs    = 3
	shortestAct = 200 * time.Millisecond
	longestAct  = 6500 * time.Millisecond
	askTimeout  = 3 * time.Second

	leaseDuration = 15 * time.Second // as internal/app has it
	renewDeadline = leaseDuration * 2 / 3
	settle        = 12 * time.Second // it follows from LINGER
)

// stormSettings are those of all replicas. A view of 60 s is fresh, which is longer than a pause: nothing but
// the fence is to keep a replica that wakes from saying yes.
var stormSettings = settings{
	"MAX_CONCURRENT_PROVISIONING_HOSTS": fmt.Sprint(stormSlots),
	ours + "LEADER_ELECT":               "true",
	ours + "LINGER":                     (settle * 3 / 4).String(),
	ours + "POLL_INTERVAL":              "10s",
	ours + "LEASE_TTL":                  "30s",
	ours + "STATE":                      "configmap:ironic-throttle",
}

// storm is a fleet whose hosts are provisioned and deprovisioned for ever, by an operator before whose Ironic the
// gateways of the replicas of a throttle stand.
type storm struct {
	*service
	tense  atomic.Int32 // a fault is near: so many PUTs are acted on late
	ironic *fakeIronic
	bmo    *bmo.Operator

	mu      sync.Mutex
	worked  map[string]time.Time // when a node last began or ended work
	grants  map[string]int       // new slots by life
	since   time.Time            // of the last fault, until a slot is given
	turnsBy int                  // had begun by then
	victim  string               // the life that it befell
	next    chan change          // gets the first slot that another one gives
}

func raiseStorm(t *testing.T, replicas int) *storm {
	t.Helper()
	s := &storm{worked: map[string]time.Time{}, grants: map[string]int{}, next: make(chan change, 1)}
	s.ironic = serveIronic(t, 10*time.Minute, shortWorks)
	keys := make([]bmo.Host, stormHosts)
	for i := range keys {
		keys[i] = bmo.Host{Namespace: fmt.Sprintf("tenant-%d", i%3), Name: fmt.Sprintf("host-%03d", i), Provision: true}
		s.ironic.node(t, keys[i].Key())
	}
	s.ironic.With(func(_ time.Time, w *fakeironic.World) { w.Watch(s.works) })

	s.service = &service{turns: &turns{}, granted: s.grantedNow, network: &http.Transport{
		MaxIdleConnsPerHost: stormAskers, ResponseHeaderTimeout: longestAct + askTimeout,
	}}
	t.Cleanup(s.network.CloseIdleConnections)
	s.deployment = deployReplicas(t, replicas, stormSettings, func(l *life) http.Handler {
		return slowIronic(t.Context(), s.ironic.Server, func(node string) time.Duration {
			s.passedOn(l, node)
			return s.act()
		})
	})
	s.newOperator(keys)
	s.start()
	s.begin()
	s.running.Go(func() { _ = s.bmo.Run(s.ctx) })
	s.running.Go(s.turnOver)
	return s
}

// shortWorks lets a work take from 2 to 11 s: some outlast a hand-over, most do not.
func shortWorks(o *fakeironic.Options) {
	span := func(low, high int) fakeironic.Span {
		return fakeironic.Span{Min: time.Duration(low) * time.Millisecond, Max: time.Duration(high) * time.Millisecond}
	}
	o.Limit, o.Fates.CleanReboot, o.API.MaxMinor = stormSlots, 0, 96
	d := &o.Durations
	d.Verify, d.Prepare, d.Boot, d.Handover = span(50, 100), span(100, 300), span(500, 1500), span(0, 50)
	d.InspectRun, d.CleanRun, d.DeployRun = span(1000, 5000), span(1000, 5000), span(2000, 9000)
	d.FinalReboot, d.TearDown, d.Heartbeat = span(100, 300), span(100, 300), span(1000, 3000)
}

func (s *storm) newOperator(hosts []bmo.Host) {
	o := bmo.Options{Hosts: hosts, Workers: stormAskers, Speed: 1, Seed: 24, Timings: bmo.Timings{
		Delayed: bmo.Span{Min: time.Second, Max: 3 * time.Second}, Busy: bmo.Span{Min: time.Second, Max: 3 * time.Second},
		Poll: 500 * time.Millisecond, Gone: time.Second, Ready: time.Second,
		BackoffBase: 100 * time.Millisecond, BackoffMax: 2 * time.Second, Retry: time.Second,
	}}
	o.Ironic = bmo.NewClient("http://gateway", s.service)
	const noLimit = 100_000
	o.Capacity = bmo.BuiltIn(o.Ironic, noLimit)
	s.bmo = bmo.New(o)
}

// turnOver wants provisioned hosts empty, and empty ones provisioned.
func (s *storm) turnOver() {
	for ; s.ctx.Err() == nil; wait(s.ctx, time.Second) {
		for _, h := range s.bmo.Hosts() {
			if h.State == api.BMHProvisioned && h.Provision || h.State == api.BMHAvailable && !h.Provision {
				if err := s.bmo.SetImage(h.Key(), !h.Provision); err != nil {
					s.Error(err)
				}
			}
		}
	}
}

// works hears what Ironic does; it holds the world's lock.
func (s *storm) works(at time.Time, node string, _ bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worked[node] = at
}

// grantedNow hears of every PUT that is passed on. That of a host which was at work when the leader changed needs no new
// slot.
func (s *storm) grantedNow(l *life, node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants[l.name]++
	if s.since.IsZero() || l.name == s.victim || s.worked[node].After(s.since) {
		return
	}
	s.next <- change{took: time.Since(s.since), turns: s.turns.count() - s.turnsBy}
	s.since = time.Time{}
	s.tense.Store(0)
}

// act is the time from a yes to the work. Before a fault it is as long as may be for some,
// so that the next leader is there in between, but not for all: their work would fill the
// slots when that one begins to give them. Else it is short, so that slots are put to use.
func (s *storm) act() time.Duration {
	if s.tense.Add(-1) >= 0 {
		return longestAct
	}
	return shortestAct + rand.N(longestAct/8)
}

// given is how many slots a life has given.
func (s *storm) given(life string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grants[life]
}

// expectAnother begins to wait for the first slot that another life than l gives.
func (s *storm) expectAnother(l *life) (since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since, s.victim, s.turnsBy = time.Now(), l.name, s.turns.count()
	return s.since
}

// leader waits for the life whose turn it is and that has filled the house, and some time
// more, so that a fault comes at any moment.
func (s *storm) leader() *life {
	s.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; wait(s.Context(), 50*time.Millisecond) {
		l := s.find(s.turns.whose())
		if l == nil || s.given(l.name) < stormSlots || s.ironic.Truth().Working < stormSlots-1 {
			continue
		}
		s.tense.Store(lateActs)
		wait(s.Context(), rand.N(3*time.Second))
		if l.Running() && s.turns.whose() == l.name {
			return l
		}
	}
	s.Fatalf("nobody leads and fills the slots: %s; Ironic: %+v", s.turns, s.ironic.Truth())
	return nil
}

// leave lets somebody ask a replica in the name of all hosts, by both ways, as operators do whose requests hang there.
// Wait on what it returns when the replica can answer.
func (s *storm) leave(ctx context.Context, l *life) (left *sync.WaitGroup) {
	left = &sync.WaitGroup{}
	patient, err := api.NewClient(l.at.API, api.WithTimeout(time.Minute))
	if err != nil {
		s.Error(err)
		return left
	}
	network := &http.Transport{DisableKeepAlives: true}
	for _, h := range s.bmo.Hosts() {
		op, target := api.OpProvision, `{"target": "active"}`
		if h.State == api.BMHProvisioned || h.State == api.BMHDeprovisioning {
			op, target = api.OpDeprovision, `{"target": "deleted"}`
		}
		left.Go(func() {
			defer patient.CloseIdleConnections()
			s.ask(ctx, l, patient, api.Ask{Namespace: h.Namespace, Name: h.Name, NodeUUID: h.NodeUUID, Op: op})
		})
		left.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPut, l.at.Gateway+"/v1/nodes/"+h.NodeUUID+"/states/provision", strings.NewReader(target))
			if err != nil {
				s.Error(err)
				return
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
			if resp, err := network.RoundTrip(r); err == nil { // what it leads to, Ironic sees
				_ = resp.Body.Close()
			}
		})
	}
	return left
}
