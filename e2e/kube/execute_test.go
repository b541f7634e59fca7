//go:build e2e

package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/execute"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// executor carries out one action, until its Machine is gone. Each run is another process, as it were, with the rights of the
// manifests. Its clock runs a hundred times as fast while a plan waits to be validated, and is ahead of the API server's:
// the youngest Machine must have been there for a minute.
type executor struct {
	*capi
	action api.PlanAction
	config *rest.Config
	way    *realkube.Proxy // to the cluster of the nodes
	log    safeLog

	mu         sync.Mutex
	fast       bool
	real, told time.Time
}

type safeLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (e *executor) now() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	is := time.Now()
	passed := is.Sub(e.real)
	if e.fast {
		passed *= 100
	}
	e.real, e.told = is, e.told.Add(passed)
	return e.told
}

func (e *executor) set(fast bool) {
	e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fast = fast
}

// State, Plan, Validate and Hold are execute.Planner's.
func (e *executor) State(ctx context.Context) (*disruption.State, error) {
	return &disruption.State{Pools: []disruption.Pool{{
		Key: disruption.Key{Namespace: e.Namespace, Name: "workers"}, Kind: disruption.PoolMachineDeployment, Scales: true, Execute: true,
	}}}, ctx.Err()
}

func (e *executor) Plan(_ context.Context, _ *disruption.State, now time.Time) (api.Plan, error) {
	e.set(true)
	plan := api.Plan{MadeAt: now, ExecuteAfter: now.Add(disruption.ValidateAfter)}
	if slices.Contains(e.machines(), filepath.Base(e.action.Hosts[0].Machine)) {
		plan.Actions = []api.PlanAction{e.action}
	}
	return plan, nil
}

func (e *executor) Validate(ctx context.Context, _ api.Plan, _ *disruption.State, _ time.Time) error {
	e.set(false)
	return ctx.Err()
}

func (e *executor) Hold() string { return "" }

// clusters are execute.Clusters: the throttle's own one, and another.
type clusters struct{ own, other client.Client }

func (c clusters) Client(_ context.Context, of disruption.Key) (client.Client, error) {
	if of == (disruption.Key{}) {
		return c.own, nil
	}
	return c.other, nil
}

// executorRights are those of planner-execute, and what it builds on: the lists of the planner, and Events.
func executorRights(t *testing.T, ns string) {
	t.Helper()
	root, err := realkube.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", "components", "planner-execute", "clusterrole.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	lists := `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: lists}
rules:
  - {apiGroups: [""], resources: [nodes, pods], verbs: [list]}
  - {apiGroups: [""], resources: [events], verbs: [create]}
  - {apiGroups: [metal3.io], resources: [baremetalhosts], verbs: [list]}
  - {apiGroups: [cluster.x-k8s.io], resources: [machines, machinesets, machinedeployments], verbs: [list]}
`
	objects, err := realkube.Decode(string(text) + lists)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		o.SetName(o.GetName() + "-" + ns)
		binding := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": o.GetName()},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": o.GetName()},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "executor", "namespace": ns}},
		}}
		for _, x := range []*unstructured.Unstructured{o, binding} {
			if _, err := cluster.Apply(t.Context(), x); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// newExecutor wants machine-1 of a pool of three to be released, or to be replaced where spare is set.
func newExecutor(t *testing.T, nodes *realkube.Kube, spare string) *executor {
	t.Helper()
	ns, is := namespace(t, "execute"), time.Now()
	e := &executor{capi: playCAPI(t, ns, nodes, min(1, len(spare))), real: is, told: is.Add(2 * time.Minute)}
	var err error
	if e.way, err = nodes.Proxy(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.way.Stop)
	e.action = api.PlanAction{
		ID: "a-1", Decision: api.PlanRelease, Reason: api.PlanEmpty, Pool: "MachineDeployment " + ns + "/workers",
		Hosts: []api.PlanHost{e.target("machine-1")}, Evidence: []string{"no pods"},
	}
	if spare != "" {
		e.action.Decision, e.action.Reason, e.action.Replacement = api.PlanReplace, api.PlanUnderutilized, &api.PlanHost{Name: ns + "/" + spare}
		wait(t.Context(), time.Second) // Machines are told apart by the second in which they were made
	}
	executorRights(t, ns)
	e.config = as(t, ns, "executor")
	return e
}

// run carries out what there is until ctx ends. hook is between it and the API server.
func (e *executor) run(ctx context.Context, hook func(http.RoundTripper) http.RoundTripper) {
	e.Helper()
	config := rest.CopyConfig(e.config)
	if hook != nil {
		config.Wrap(hook)
	}
	own, err := kube.NewClient(config)
	if err != nil {
		e.Fatal(err)
	}
	config = e.nodes.Config()
	config.Host = e.way.URL
	other, err := kube.NewClient(config)
	if err != nil {
		e.Fatal(err)
	}
	r := execute.New(execute.Options{
		Planner: e, Own: own, Clusters: clusters{own, other}, Namespaces: []string{e.Namespace},
		Leading: func() bool { return true }, Now: e.now, Every: 100 * time.Millisecond,
		Instance: "executor", Log: slog.New(slog.NewTextHandler(&e.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err := r.Run(ctx); err != nil {
		e.Error(err)
	}
}

// finish runs until just machine-1 is gone, its host powered off, and no mark is left.
func (e *executor) finish(replicas int, meanwhile func()) {
	e.Helper()
	stop := e.play()
	defer stop()
	ctx, cancel := context.WithCancel(e.Context())
	done := make(chan struct{})
	go func() { defer close(done); e.run(ctx, nil) }()
	defer func() { cancel(); <-done }()
	if meanwhile != nil {
		meanwhile()
	}
	var left []string
	await(e.T, "end of the command", func() bool {
		h, err := cluster.Hosts(e.Namespace).Get(e.Context(), filepath.Base(e.action.Hosts[0].Name), metav1.GetOptions{})
		if err != nil {
			e.Fatal(err)
		}
		online, _, _ := unstructured.NestedBool(h.Object, "spec", "online")
		left = e.leftovers()
		return !online && len(left) == 0 && len(e.machines()) == replicas
	}, func() string { return strings.Join(left, "\n") + "\n" + e.log.String() })
	cancel()
	<-done
	stop()
	if gone := slices.DeleteFunc(e.Gone, func(m string) bool { return m > "machine-2" }); !slices.Equal(gone, []string{"machine-1"}) || e.replicas() != replicas {
		e.Errorf("gone %v, want machine-1 of the first ones alone; %d replicas, want %d\n%s", e.Gone, e.replicas(), replicas, e.log.String())
	}
}

// The owner gets smaller by one, and the Machine that is marked is the one that goes; with the rights of planner-execute.
func TestReleaseOfAnEmptyHost(t *testing.T) {
	t.Parallel()
	e := newExecutor(t, cluster, "")
	e.finish(2, nil)
	events, err := cluster.List(t.Context(), "v1", "events", e.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, o := range events {
		reason, _, _ := unstructured.NestedString(o.Object, "reason")
		kind, _, _ := unstructured.NestedString(o.Object, "involvedObject", "kind")
		reasons = append(reasons, kind+" "+reason)
	}
	for _, want := range []string{"BareMetalHost PlannedWorkStarted", "MachineDeployment PlannedWorkStarted", "BareMetalHost PlannedWorkFinished"} {
		if !slices.Contains(reasons, want) {
			t.Errorf("no Event %s among %v", want, reasons)
		}
	}
}

// The replacement is there before the old node is drained, a PodDisruptionBudget is kept, and then the old Machine goes; with
// the rights of planner-execute, and where the nodes are of a workload cluster whose API server is away for a while.
func TestReplacementOfAHost(t *testing.T) {
	t.Parallel()
	for name, nodes := range map[string]*realkube.Kube{"own": cluster, "workload": workloads(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExecutor(t, nodes, "host-3")
			old := e.action.Hosts[0]
			allow := e.guardedPod("web", old.Node)
			allow(0)
			e.finish(3, func() {
				await(t, "eviction that the budget refuses", func() bool {
					return strings.Contains(e.log.String(), "violate the pod's disruption budget")
				}, e.log.String)
				node, err := e.core.CoreV1().Nodes().Get(t.Context(), old.Node, metav1.GetOptions{})
				if err != nil || !slices.ContainsFunc(node.Spec.Taints, func(x core.Taint) bool {
					return x.Key == "ironic-throttle.metal3.io/disrupting" && x.Effect == core.TaintEffectNoSchedule
				}) {
					t.Errorf("%v, taints %v", err, node.Spec.Taints)
				}
				if n := len(e.machines()); n != 4 {
					t.Errorf("%d Machines while the old node is drained, want 4", n)
				}
				if nodes != cluster {
					e.way.Refuse()
					await(t, "word that the cluster is away", func() bool {
						return strings.Contains(e.log.String(), "cluster "+e.Namespace+"/c cannot be read")
					}, e.log.String)
					e.way.Mend()
				}
				allow(1)
			})
		})
	}
}

var errDead = errors.New("the process is dead")

// killer ends a process at its n-th write, before that has an effect or after.
type killer struct {
	inner  http.RoundTripper
	at     int64
	after  bool
	writes *atomic.Int64
	kill   func()
}

// RoundTrip is http.RoundTripper's.
func (k killer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/events") {
		return k.inner.RoundTrip(r)
	}
	n := k.writes.Add(1)
	switch {
	case n > k.at:
		return nil, errDead
	case n < k.at:
		return k.inner.RoundTrip(r)
	}
	if k.after {
		if resp, err := k.inner.RoundTrip(r); err == nil {
			_ = resp.Body.Close()
		}
	}
	k.kill()
	return nil, errDead
}

// Whichever write a process dies at, before it takes effect or after, the next one leaves nothing half done.
func TestExecutionIsKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	for spare, replicas := range map[string]int{"": 2, "host-3": 3} {
		for at := 1; at <= 11; at++ { // a release has eleven
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %d %v", spare, at, after), func(t *testing.T) {
					t.Parallel()
					e := newExecutor(t, cluster, spare)
					stop := e.play()
					var sent atomic.Int64
					first, kill := context.WithTimeout(t.Context(), time.Minute)
					defer kill()
					e.run(first, func(inner http.RoundTripper) http.RoundTripper {
						return killer{inner: inner, at: int64(at), after: after, writes: &sent, kill: kill}
					})
					stop()
					if sent.Load() < int64(at) {
						t.Fatalf("it wrote %d times, and was to die at %d:\n%s", sent.Load(), at, e.log.String())
					}
					e.finish(replicas, nil)
				})
			}
		}
	}
}
