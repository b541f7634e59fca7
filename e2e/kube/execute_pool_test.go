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
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/capiplayer"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// mortal is a throttle that carries plans out for a pool on the API server, which a Player plays. It is killed at its writes,
// and started again.
type mortal struct {
	*testing.T
	*capiplayer.Player
	nodes    *realkube.Kube // has the nodes of the pool
	ironic   *fakeIronic
	settings settings
	alive    atomic.Pointer[throttle] // listening; nil: dead, or starting
	scaling  chan struct{}            // not nil: the first write of replicas tells the test, and waits for it
	scaled   sync.Once

	mu     sync.Mutex
	fates  int // of writes, from the mark of the Machine on
	deaths int
	writes []planWrite // that had an effect
}

// planWrite is a write of planned work.
type planWrite struct {
	what          string
	marks, scales bool // it tells Cluster API which Machine goes first; it changes the owner's replicas
}

func (w planWrite) String() string { return w.what }

var plannedKinds = regexp.MustCompile(`/(baremetalhosts|machines|machinesets|machinedeployments|nodes)/`)

// between is the way of the process to the API server. From the mark of the Machine on it is killed at two of three writes:
// before it has an effect, and after it. What comes before that would be taken back.
func (m *mortal) between(w http.ResponseWriter, r *http.Request, server http.Handler) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Method == http.MethodGet || !plannedKinds.MatchString(r.URL.Path) {
		server.ServeHTTP(w, r)
		return
	}
	write := planWrite{fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body), bytes.Contains(body, []byte(`delete-machine":"`)), bytes.Contains(body, []byte(`"replicas":`))}
	var p *throttle // it writes before we know where it listens
	for p == nil && r.Context().Err() == nil {
		if p = m.alive.Load(); p == nil {
			wait(r.Context(), time.Millisecond)
		}
	}
	if write.scales && m.scaling != nil {
		m.scaled.Do(func() { m.scaling <- struct{}{}; <-m.scaling })
	}
	m.mu.Lock()
	if m.fates > 0 || write.marks {
		m.fates++
	}
	fate := m.fates % 3
	m.mu.Unlock()
	if p == nil || fate == 1 && m.kill(p) {
		return
	}
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, r.WithContext(context.WithoutCancel(r.Context())))
	if answer.Code < 300 {
		m.mu.Lock()
		m.writes = append(m.writes, write)
		m.mu.Unlock()
	}
	if fate == 2 && m.kill(p) {
		return
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// kill ends a process as kill -9 does.
func (m *mortal) kill(p *throttle) bool {
	p.Kill()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deaths++
	return true
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

// plan is what the process shows of planned work; nil: it has died meanwhile.
func (m *mortal) plan() *api.Plan {
	m.Helper()
	plan := &api.Plan{}
	if out, _, code := m.lives().run("plan", "-o", "json"); code != 0 || json.Unmarshal([]byte(out), plan) != nil {
		return nil
	}
	return plan
}

// until waits for something, and lets the process live again.
func (m *mortal) until(what string, done func() bool) {
	m.Helper()
	awaitFor(m.T, 6*time.Minute, what, func() bool { m.lives(); return done() }, m.story)
}

// story is what happened.
func (m *mortal) story() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("killed %d times, gone %v, wrote\n%v", m.deaths, m.Gone, m.writes)
}

// machines are those that there are.
func (m *mortal) machines() (names []string) {
	m.Helper()
	all, err := m.MachinesNow(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	for _, one := range all {
		names = append(names, one.Name)
	}
	return names
}

// ended waits until the host is powered off and no mark is left, and wants just its Machine to be gone, as its mark said.
func (m *mortal) ended(host, machine string, replicas, scales int) {
	m.Helper()
	m.until("end of the command", func() bool {
		left, err := m.Leftovers(m.Context())
		if err != nil {
			m.Fatal(err)
		}
		hosts, err := m.HostsNow(m.Context())
		if err != nil {
			m.Fatal(err)
		}
		for _, h := range hosts {
			if h.Name == host && h.Spec.Online {
				return false
			}
		}
		return len(left) == 0
	})
	owner, err := m.Owner(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	m.mu.Lock()
	var marked []planWrite
	for _, w := range m.writes {
		if w.scales {
			scales--
		}
		if w.marks {
			marked = append(marked, w)
		}
	}
	deaths := m.deaths
	m.mu.Unlock()
	other := slices.ContainsFunc(marked, func(w planWrite) bool { return !strings.Contains(w.what, "/machines/"+machine+" ") })
	if !slices.Equal(m.Gone, []string{machine}) || other || len(marked) == 0 || *owner.Spec.Replicas != replicas || scales != 0 || len(m.machines()) != replicas || deaths < 4 {
		m.Errorf("%d replicas, %d scalings too few; want %s to go, and %d replicas: %s", *owner.Spec.Replicas, scales, machine, replicas, m.story())
	}
}

// play goes on until the test ends it.
func (m *mortal) play() (stop func()) {
	ctx, cancel := context.WithCancel(m.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := m.Turn(ctx); err != nil && ctx.Err() == nil {
				m.Error(err)
			}
			wait(ctx, 20*time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

// guardedPod is a pod with its volume and its PodDisruptionBudget, of which ALLOWED may go now. It goes at once.
const guardedPod = `
{apiVersion: v1, kind: PersistentVolume, metadata: {name: NS-MACHINE}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: d.example.org, volumeHandle: h}, claimRef: {namespace: NS, name: on-MACHINE}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: on-MACHINE, namespace: NS}, spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: NS-MACHINE, resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}
---
{apiVersion: v1, kind: Pod, metadata: {name: on-MACHINE, namespace: NS, labels: {app: on-MACHINE}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: u3, controller: true}]},
 spec: {nodeName: NS-MACHINE, terminationGracePeriodSeconds: 0, automountServiceAccountToken: false, securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}},
  volumes: [{name: v, persistentVolumeClaim: {claimName: on-MACHINE}}],
  containers: [{name: c, image: i, resources: {requests: {cpu: 5}}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]},
 status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: on-MACHINE, namespace: NS}, spec: {minAvailable: 1, selector: {matchLabels: {app: on-MACHINE}}},
 status: {observedGeneration: 1, disruptionsAllowed: ALLOWED, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1}}
`

// guard puts a pod on the node of a Machine, or changes how many of it may go.
func (m *mortal) guard(machine, allowed string) {
	m.Helper()
	text := strings.NewReplacer("MACHINE", machine, "NS", m.Namespace, "ALLOWED", allowed).Replace(guardedPod)
	objects := decode(m.T, text)
	if allowed != "0" { // it may have gone already
		objects = objects[len(objects)-1:]
	}
	applyLive(m.T, m.nodes, objects)
}

// playMortal makes a pool of three Machines, which have a host each, and free hosts. Those of machine-0 and machine-2 have a pod
// that may not go. Their nodes are on the API server, or on one that the throttle reaches at far; "": it has no kubeconfig. Work
// in Ironic does not end by itself. The throttle has the rights of a component: planner, which only plans, or planner-execute.
func playMortal(t *testing.T, component string, nodes *realkube.Kube, far string, free int) *mortal {
	t.Helper()
	ns := namespace(t, "mortal")
	own, err := kube.NewClient(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	there, err := kube.NewClient(nodes.Config())
	if err != nil {
		t.Fatal(err)
	}
	m := &mortal{T: t, nodes: nodes, ironic: serveIronic(t, 24*time.Hour)}
	m.Player = &capiplayer.Player{Own: own, Nodes: own, Namespace: ns, Infrastructure: "v1beta1", Now: time.Now}
	deploy(t, ns, rights(t, filepath.Join(testCases, component), ns))
	if nodes != cluster {
		m.Nodes = there
		applyLive(t, nodes, decode(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+ns+"}}"))
	}
	if far != "" {
		kubeconfig, err := nodes.AdminKubeconfig(far)
		if err != nil {
			t.Fatal(err)
		}
		mayGetKubeconfig(t, ns)
		holdKubeconfig(t, ns, kubeconfig)
	}
	nodes.Token(t, ns, "default") // makes the account
	if err := m.Start(t.Context(), 3, free); err != nil {
		t.Fatal(err)
	}
	hosts, err := m.HostsNow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts {
		spec := fakeironic.NodeSpec{UUID: h.Status.Provisioning.ID, Name: ns + "~" + h.Name, State: ironic.Available, Image: "c0ffee"}
		watts := "100"
		if h.Spec.ConsumerRef != nil {
			spec.State, watts = ironic.Active, "400"
		}
		m.ironic.With(func(now time.Time, w *fakeironic.World) { _, err = w.CreateNode(now, spec) })
		for key, value := range map[string]string{"watts-busy": watts, "watts-idle": watts, "class": "one"} {
			cluster.Merge(t, realkube.Host(ns, h.Name), `{"metadata": {"annotations": {"ironic-throttle.metal3.io/`+key+`": "`+value+`"}}}`)
		}
	}
	m.guard("machine-0", "0")
	m.guard("machine-2", "0")
	m.settings = clustered(m.ironic.URL, m.through(), ns).with(settings{
		"WATCH_NAMESPACE": ns, "MAX_CONCURRENT_PROVISIONING_HOSTS": "2",
		ours + "DISRUPTION": map[string]string{"planner": "plan", "planner-execute": "execute"}[component], ours + "DISRUPTION_CONSOLIDATE_AFTER": "1s", ours + "DISRUPTION_TARIFF": "0.5",
	})
	return m
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
