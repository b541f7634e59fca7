//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// memory is what the kernel says of a process, in MiB: what it has now, and the most it
// had.
type memory struct{ now, most float64 }

// rss reads it.
func rss(tb testing.TB, pid int) (m memory) {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Fatal(err)
	}
	for name, into := range map[string]*float64{"VmRSS:": &m.now, "VmHWM:": &m.most} {
		_, rest, _ := strings.Cut(string(text), name)
		kib, err := strconv.ParseFloat(strings.Fields(rest + " -")[0], 64)
		if err != nil {
			tb.Fatalf("no %s in %s", name, text)
		}
		*into = kib / 1024
	}
	return m
}

func (m memory) log(tb testing.TB, when string) {
	tb.Helper()
	tb.Logf("%s: %.0f MiB resident, %.0f at most", when, m.now, m.most)
}

// TestMemoryOf100000 holds what the process may take in front of an Ironic with 100,000
// nodes, all of which wait, with the list of all nodes in use by clients of the gateway.
func TestMemoryOf100000(t *testing.T) {
	const nodes, most, clients = 100_000, 150, 16
	ironic := serveFakeFleet(t, nodes)
	g := benchedGateway(t, ironic, append(slices.Clip(quickStart), "IRONIC_THROTTLE_LIST_MAX_AGE=4s")...)
	awaitSettled(t, g)
	rss(t, g.pid).log(t, "after the start")

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
				a, err := c.IsReady(t.Context(), api.Ask{
					Namespace: fmt.Sprintf("ns-%02d", host%tenants+1), Name: fmt.Sprintf("host-%05d", host+1), Op: api.OpProvision,
				})
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
	rss(t, g.pid).log(t, "all wait")

	// The list is in use while a new one is read, some times over.
	host := hostOf("http://" + g.host)
	const lists = `ironic_throttle_snapshot_builds_total{cache="nodes"}`
	awaitTrue(t, "new lists of all nodes", func() bool {
		cached, took, err := newCapacityClient(t, "http://"+g.host, host).list(io.Discard)
		if err != nil || len(took) < nodes/1000 {
			t.Fatalf("%d pages, %v", len(took), err)
		}
		return cached == len(took) && g.series(t)[lists] >= 3
	}, func() string { return fmt.Sprint(g.series(t)[lists]) })
	rss(t, g.pid).log(t, "the list of all nodes read anew three times")

	rest := g.atRest(t)
	rest.log(t, "at rest")
	if rest.now > most {
		t.Errorf("%.0f MiB resident at rest, want at most %d", rest.now, most)
	}
	if waiting := int(g.series(t)["ironic_throttle_hosts_waiting"]); waiting < nodes-1000 {
		t.Errorf("%d hosts wait, want nearly %d", waiting, nodes)
	}
}

// atRest lets some polls and a scan of the collector go by, and returns the least that
// the process had meanwhile.
func (g gatewayProcess) atRest(t *testing.T) (least memory) {
	t.Helper()
	const polls = 10
	count := func() float64 { return g.series(t)[`ironic_throttle_ironic_polls_total{result="complete"}`] }
	until := count() + polls
	awaitTrue(t, "polls", func() bool {
		now := rss(t, g.pid)
		if least.now == 0 || now.now < least.now {
			least.now = now.now
		}
		least.most = now.most
		return count() >= until
	}, func() string { return "" })
	return least
}

const tenants = 20

// serveFakeFleet starts a fake Ironic of nodes that nothing happens to, as a process of
// its own.
func serveFakeFleet(t *testing.T, nodes int) (url string) {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	cmd := exec.Command(binary, "fake-ironic", "--listen", "127.0.0.1:0", "--ready-file", ready,
		"--nodes", strconv.Itoa(nodes), "--namespaces", strconv.Itoa(tenants))
	log := runChild(t, cmd, syscall.SIGKILL)
	var at struct{ API string }
	awaitTrue(t, "ready file", func() bool {
		text, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(text, &at) == nil
	}, log.String)
	if at.API == "" {
		t.Fatalf("no address of the fake Ironic: %s", log)
	}
	return strings.TrimSuffix(at.API, "/v1")
}
