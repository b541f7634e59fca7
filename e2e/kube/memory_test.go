//go:build e2e

package kube

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// memory tells how much the process takes.
func (p *throttle) memory(when string) child.Memory {
	p.Helper()
	m, err := p.Memory()
	if err != nil {
		p.Fatal(err)
	}
	p.Logf("%s: %s", when, m)
	return m
}

// TestMemoryOf20000Hosts watches BareMetalHosts of realistic size, on an API server of
// its own, which goes away in several ways.
func TestMemoryOf20000Hosts(t *testing.T) {
	t.Parallel()
	const hosts, hostBytes, mostMiB, readyWithin = 20_000, 15 << 10, 80, 30 * time.Second
	own, ns := ownCluster(t, "memory")
	for _, o := range rights(t, filepath.Join(overlays, "standalone"), ns) {
		if _, err := own.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	network, err := own.Proxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Stop)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := own.Kubeconfig(t.Context(), ns, account, network.URL, kubeconfig); err != nil {
		t.Fatal(err)
	}
	f := serveIronic(t, 24*time.Hour)
	var all []realkube.Host
	for i := range hosts {
		name := fmt.Sprintf("host-%05d", i)
		all = append(all, realkube.Host{Namespace: ns, Name: name, NodeUUID: f.node(t, ns+"~"+name), HardwareBytes: hostBytes})
	}
	begun := time.Now()
	if err := own.AddHosts(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d hosts made in %.0f s", hosts, time.Since(begun).Seconds())

	begun = time.Now()
	p := serve(t, clustered(f.URL, kubeconfig, ns).with(settings{"MAX_CONCURRENT_PROVISIONING_HOSTS": "1"}))
	p.isReady()
	took := time.Since(begun)
	awaitFor(t, 5*time.Minute, "list of all hosts", func() bool {
		_, ok := p.log.Line("BareMetalHosts are listed", fmt.Sprintf("hosts=%d", hosts))
		return ok
	}, p.log.Tail)
	t.Logf("ready after %.1f s, hosts are listed after %.1f s", took.Seconds(), time.Since(begun).Seconds())
	if took > readyWithin {
		t.Errorf("ready after %v, want %v", took, readyWithin)
	}
	await(t, "slot", func() bool { code, _ := p.put(all[0].NodeUUID, "active"); return code == 202 }, p.log.Tail)
	p.memory("all hosts are known")

	for i, trouble := range []struct {
		name   string
		within time.Duration // until a change is seen: a list of all takes longer than a watch that goes on
		do     func() error
	}{
		{"its connections broke", time.Minute, func() error { network.Break(); return nil }},
		{"the API server restarted", 2 * time.Minute, func() error { own.StopAPI(); return own.StartAPI(t.Context()) }},
		{"all had to be listed again", 2 * time.Minute, func() error { // more has changed than the API server can tell
			network.Refuse()
			if err := own.PatchStatus(t.Context(), ns, all[hosts-1].Name, map[string]any{"errorCount": 1}); err != nil {
				return err
			}
			own.StopAPI()
			if err := own.StartAPI(t.Context()); err != nil {
				return err
			}
			network.Mend()
			awaitFor(t, 5*time.Minute, "new list", func() bool { return listed(t, own) >= hosts/100 }, p.log.Tail)
			return nil
		}},
	} {
		if err := trouble.do(); err != nil {
			t.Fatal(err)
		}
		h := all[i+1]
		if err := own.PatchStatus(t.Context(), h.Namespace, h.Name, map[string]any{"errorCount": 3}); err != nil {
			t.Fatal(err)
		}
		c, last := p.client(), ""
		awaitFor(t, trouble.within, "change after "+trouble.name, func() bool {
			_, last = p.put(h.NodeUUID, "active")
			return lanes(t, c)[h.Namespace+"~"+h.Name].Errors == 3
		}, func() string { return last + p.log.Tail() })
		most := p.memory("when " + trouble.name).Most
		if most > mostMiB {
			t.Errorf("%.0f MiB at most when %s, want at most %d", most, trouble.name, mostMiB)
		}
	}
}

// listed is how many pages of BareMetalHosts the API server has sent since it started.
func listed(t *testing.T, k *realkube.Kube) (pages float64) {
	t.Helper()
	client, err := kubernetes.NewForConfig(k.Config())
	if err != nil {
		t.Fatal(err)
	}
	text, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "apiserver_request_total{") && strings.Contains(line, `resource="baremetalhosts"`) && strings.Contains(line, `verb="LIST"`) {
			n, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			pages += n
		}
	}
	return pages
}
