//go:build e2e

package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// mortal is a throttle that carries plans out, is killed at its writes, and is started again.
type mortal struct {
	*capi
	ironic   *fakeIronic
	settings settings
	alive    atomic.Pointer[throttle] // listening; nil: dead, or starting
	// dies tells at a write, before it has an effect and after, whether the process dies there.
	dies func(w planWrite, after bool) bool

	mu     sync.Mutex
	deaths []string    // what killed it
	writes []planWrite // that had an effect
}

// planWrite is what planned work changes: an object, and what of it.
type planWrite struct {
	resource, name, what string
	scales, marks        bool // the owner; it tells Cluster API which Machine goes first
}

// readWrite is false for what is no write of planned work.
func readWrite(r *http.Request, body []byte) (w planWrite, is bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	known := []string{"baremetalhosts", "machines", "machinesets", "machinedeployments", "nodes", "pods"}
	at := slices.IndexFunc(parts, func(p string) bool { return slices.Contains(known, p) })
	if r.Method == http.MethodGet || at < 0 || at+1 >= len(parts) {
		return w, false
	}
	w.resource, w.name, w.what = parts[at], parts[at+1], r.Method
	var patch struct {
		Metadata struct{ Labels, Annotations map[string]*string }
		Spec     map[string]any
	}
	if r.Method != http.MethodPatch || json.Unmarshal(body, &patch) != nil {
		return w, true
	}
	const command = "ironic-throttle.metal3.io/command"
	var record struct{ Step string }
	if text := patch.Metadata.Annotations[command]; text != nil {
		_ = json.Unmarshal([]byte(*text), &record)
	}
	label, labelled := patch.Metadata.Labels[command]
	w.marks = patch.Metadata.Annotations["cluster.x-k8s.io/delete-machine"] != nil
	_, w.scales = patch.Spec["replicas"]
	w.what = fmt.Sprintf("%q %s label %t %t spec %q", slices.Sorted(maps.Keys(patch.Metadata.Annotations)), record.Step,
		labelled, label != nil, slices.Sorted(maps.Keys(patch.Spec)))
	return w, true
}

// between is the way of the process to the API server. Whoever dies at a write gets no answer.
func (m *mortal) between(w http.ResponseWriter, r *http.Request, server http.Handler) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	write, is := readWrite(r, body)
	if !is {
		server.ServeHTTP(w, r)
		return
	}
	var p *throttle // it writes before we know where it listens
	for p == nil && r.Context().Err() == nil {
		if p = m.alive.Load(); p == nil {
			wait(r.Context(), time.Millisecond)
		}
	}
	if p == nil || m.dies(write, false) && m.kill(p, "before "+write.resource+" "+write.what) {
		return
	}
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, r.WithContext(context.WithoutCancel(r.Context())))
	if answer.Code < 300 {
		m.mu.Lock()
		m.writes = append(m.writes, write)
		m.mu.Unlock()
		if m.dies(write, true) && m.kill(p, "after "+write.resource+" "+write.what) {
			return
		}
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// kill ends a process as kill -9 does.
func (m *mortal) kill(p *throttle, why string) bool {
	p.Kill()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deaths = append(m.deaths, why)
	return true
}

func (m *mortal) seen() (deaths []string, writes []planWrite) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.deaths), slices.Clone(m.writes)
}

// lives starts the process again when it is dead. It is for the goroutine of the test.
func (m *mortal) lives() *throttle {
	m.Helper()
	p := m.alive.Load()
	if p == nil || !p.Running() {
		m.alive.Store(nil)
		p = serve(m.T, m.settings)
		m.alive.Store(p)
	}
	return p
}

// uuid is a host's node.
func (m *mortal) uuid(host string) string {
	return m.nodes()[m.Namespace+"~"+host].UUID
}

func (m *mortal) nodes() map[string]ironic.Node {
	all := map[string]ironic.Node{}
	m.ironic.With(func(now time.Time, w *fakeironic.World) {
		for _, ident := range w.Idents() {
			if n, ok := w.Node(now, ident); ok {
				all[n.Name] = n
			}
		}
	})
	return all
}

// becomes ends the work of a node.
func (m *mortal) becomes(uuid string, state ironic.State) {
	m.ironic.With(func(now time.Time, w *fakeironic.World) {
		if err := w.SetState(now, uuid, state, false); err != nil {
			m.Error(err)
		}
	})
}

// playMortal makes a pool of three Machines of which one host is empty, an Ironic in which work does not end by
// itself, and the way to the API server. Their nodes are there, or of a workload cluster. It returns the Machine of the
// empty host.
func playMortal(t *testing.T, nodes *realkube.Kube) (m *mortal, empty string) {
	t.Helper()
	ns := namespace(t, "mortal")
	m = &mortal{capi: playCAPI(t, ns, nodes, 0), ironic: serveIronic(t, 24*time.Hour)}
	hosts, err := m.HostsNow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts {
		m.ironic.With(func(now time.Time, w *fakeironic.World) {
			spec := fakeironic.NodeSpec{UUID: h.Status.Provisioning.ID, Name: ns + "~" + h.Name, State: ironic.Active, Image: "c0ffee"}
			if _, err := w.CreateNode(now, spec); err != nil {
				t.Fatal(err)
			}
		})
		if err := cluster.Annotate(t.Context(), ns, h.Name, "ironic-throttle.metal3.io/watts-idle", "150"); err != nil {
			t.Fatal(err)
		}
	}
	for _, busy := range []string{"machine-0", "machine-2"} {
		m.guardedPod("on-"+busy, m.NodeOf(busy))
	}
	deploy(t, ns, rights(t, filepath.Join(testCases, "planner-execute"), ns))
	if nodes != cluster {
		kubeconfig, err := nodes.AdminKubeconfig(nodes.URL)
		if err != nil {
			t.Fatal(err)
		}
		mayGetKubeconfig(t, ns)
		holdKubeconfig(t, ns, kubeconfig)
	}
	m.settings = clustered(m.ironic.URL, m.through(), ns).with(settings{
		"WATCH_NAMESPACE": ns, "MAX_CONCURRENT_PROVISIONING_HOSTS": "2",
		ours + "DISRUPTION": "execute", ours + "DISRUPTION_CONSOLIDATE_AFTER": "1s", ours + "DISRUPTION_TARIFF": "0.5",
	})
	return m, "machine-1"
}

// through is a kubeconfig that leads past between.
func (m *mortal) through() (kubeconfig string) {
	m.Helper()
	target, err := url.Parse(cluster.URL)
	if err != nil {
		m.Fatal(err)
	}
	transport, err := rest.TransportFor(&rest.Config{Host: cluster.URL, TLSClientConfig: rest.TLSClientConfig{CAFile: cluster.CAFile}})
	if err != nil {
		m.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }, // of a process that died
	}
	front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.between(w, r, proxy) }))
	m.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	kubeconfig = kubeconfigOf(m.T, m.Namespace, account, front.URL)
	c, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		m.Fatal(err)
	}
	for _, known := range c.Clusters { // tokens are sent by TLS alone
		known.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	}
	if err := clientcmd.WriteToFile(*c, kubeconfig); err != nil {
		m.Fatal(err)
	}
	return kubeconfig
}
