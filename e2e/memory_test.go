//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// TestMemoryOf100000 holds what the process may take in front of an Ironic with 100,000
// nodes, all of which wait, with the list of all nodes in use by clients of the gateway.
func TestMemoryOf100000(t *testing.T) {
	nightly(t)
	const nodes, most, clients = 100_000, 190, 16
	ironic := serveFakeFleet(t, nodes)
	g := benchedGateway(t, ironic, append(slices.Clip(quickStart), "IRONIC_THROTTLE_POLL_INTERVAL=1s")...)
	awaitSettled(t, g)
	g.logMemory(t, "after the start")

	begun := time.Now()
	var asking sync.WaitGroup
	var mu sync.Mutex
	reasons := map[api.Reason]int{}
	for n := range clients {
		asking.Go(func() {
			c, err := api.NewClient(g.api)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.CloseIdleConnections()
			mine := map[api.Reason]int{}
			for host := n; host < nodes; host += clients {
				ask := api.Ask{Namespace: fmt.Sprintf("ns-%02d", host%tenants+1), Name: fmt.Sprintf("host-%05d", host+1), Op: api.OpProvision}
				a, err := c.IsReady(t.Context(), ask)
				for err == nil && a.Reason == api.ReasonStarting { // until the list of all nodes shows it
					a, err = c.IsReady(t.Context(), ask)
				}
				if err != nil {
					t.Errorf("host %d: %v", host, err)
					return
				}
				mine[a.Reason]++
			}
			mu.Lock()
			defer mu.Unlock()
			for reason, count := range mine {
				reasons[reason] += count
			}
		})
	}
	asking.Wait()
	t.Logf("%d hosts have asked in %.0f s: %v", nodes, time.Since(begun).Seconds(), reasons)
	g.logMemory(t, "all wait")

	// The list is in use while a new one is read, some times over.
	host := hostOf("http://" + g.host)
	const requests = `ironic_throttle_ironic_requests_total{kind="list"}`
	before := g.series(t)[requests]
	poll(t, "new lists of all nodes", func() bool {
		cached, took, err := newCapacityClient(t, "http://"+g.host, host).list(io.Discard)
		if err != nil || len(took) < nodes/1000 {
			t.Fatalf("%d pages, %v", len(took), err)
		}
		return cached == len(took) && g.series(t)[requests]-before > 4*nodes/1000
	}, func() string { return fmt.Sprint(g.series(t)[requests]) })
	g.logMemory(t, "the list of all nodes read anew three times")

	rest := g.atRest(t)
	t.Logf("at rest: %s", rest)
	if rest.Now > most {
		t.Errorf("%.0f MiB resident at rest, want at most %d", rest.Now, most)
	}
	if waiting := int(g.series(t)["ironic_throttle_hosts_waiting"]); waiting < nodes-1000 {
		t.Errorf("%d hosts wait, want nearly %d", waiting, nodes)
	}
}

func (g gatewayProcess) memory(t *testing.T) child.Memory {
	t.Helper()
	m, err := g.process.Memory()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (g gatewayProcess) logMemory(t *testing.T, when string) {
	t.Helper()
	t.Logf("%s: %s", when, g.memory(t))
}

// atRest lets some polls and a scan of the collector go by, and returns the least that
// the process had meanwhile.
func (g gatewayProcess) atRest(t *testing.T) (least child.Memory) {
	t.Helper()
	const polls = 10
	count := func() float64 { return g.series(t)[`ironic_throttle_ironic_polls_total{result="complete"}`] }
	until := count() + polls
	child.Await(t, 20*time.Millisecond, time.Minute, "polls", func() bool {
		now := g.memory(t)
		if least.Now == 0 || now.Now < least.Now {
			least.Now = now.Now
		}
		least.Most = now.Most
		return count() >= until
	}, func() string { return "" })
	return least
}

const tenants = 20

// serveFakeFleet starts a fake Ironic of nodes that nothing happens to, as a process of
// its own.
func serveFakeFleet(t *testing.T, nodes int) (url string) {
	t.Helper()
	var at struct{ API string }
	_, log := child.Serve(t, child.Command{Name: labBinary, Args: []string{
		"fake-ironic", "--listen", "127.0.0.1:0", "--nodes", strconv.Itoa(nodes), "--namespaces", strconv.Itoa(tenants),
	}}, &at)
	if at.API == "" {
		t.Fatalf("no address of the fake Ironic: %s", log)
	}
	return strings.TrimSuffix(at.API, "/v1")
}
