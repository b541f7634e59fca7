//go:build e2e

package kube

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/execute"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// executor carries out one action, until its Machine is gone, with the rights of the manifests. Its clock is ahead of the API server's: the youngest Machine must have been there for a minute.
type executor struct {
	*capi
	action api.PlanAction
	config *rest.Config
	way    *realkube.Proxy // to the cluster of the nodes
	log    safeLog
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

func (e *executor) now() time.Time { return time.Now().Add(2 * time.Minute) }

// State, PlanOf, Validate and Hold are execute.Planner's.
func (e *executor) State(ctx context.Context) (*disruption.State, error) {
	return &disruption.State{Pools: []disruption.Pool{{
		Key: disruption.Key{Namespace: e.Namespace, Name: "workers"}, Kind: disruption.PoolMachineDeployment, Scales: true, Execute: true,
	}}}, ctx.Err()
}

func (e *executor) PlanOf(_ context.Context, _ *disruption.State, now time.Time) (api.Plan, error) {
	plan := api.Plan{MadeAt: now, ExecuteAfter: now.Add(disruption.ValidateAfter)}
	if slices.Contains(e.machines(), filepath.Base(e.action.Hosts[0].Machine)) {
		plan.Actions = []api.PlanAction{e.action}
	}
	return plan, nil
}

func (e *executor) Validate(ctx context.Context, _ api.Plan, _ *disruption.State, _ time.Time) error {
	return ctx.Err()
}

func (e *executor) Hold() string { return "" }

// newExecutor wants machine-1 of a pool of three to be replaced.
func newExecutor(t *testing.T, nodes *realkube.Kube) *executor {
	t.Helper()
	ns := namespace(t, "execute")
	e := &executor{capi: playCAPI(t, ns, nodes, 1)}
	var err error
	if e.way, err = nodes.Proxy(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.way.Stop)
	e.action = api.PlanAction{
		ID: "a-1", Decision: api.PlanReplace, Reason: api.PlanUnderutilized, Pool: "MachineDeployment " + ns + "/workers",
		Hosts: []api.PlanHost{e.target("machine-1")}, Replacement: &api.PlanHost{Name: ns + "/host-3"},
	}
	wait(t.Context(), time.Second) // Machines are told apart by the second in which they were made
	kubeconfig := deploy(t, ns, rights(t, filepath.Join(testCases, "planner-execute"), ns))
	if e.config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		t.Fatal(err)
	}
	return e
}

// run carries out what there is until ctx ends.
func (e *executor) run(ctx context.Context) {
	e.Helper()
	own, err := kube.NewClient(e.config)
	if err != nil {
		e.Fatal(err)
	}
	config := e.nodes.Config()
	config.Host = e.way.URL
	other, err := kube.NewClient(config)
	if err != nil {
		e.Fatal(err)
	}
	r := execute.New(execute.Options{
		Planner: e, Namespaces: []string{e.Namespace},
		Client: func(_ context.Context, of disruption.Key) (client.Client, error) {
			if of == (disruption.Key{}) {
				return own, nil
			}
			return other, nil
		},
		Leading: func() bool { return true }, Now: e.now, Every: 100 * time.Millisecond,
		Instance: "executor", Log: slog.New(slog.NewTextHandler(&e.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err := r.Run(ctx); err != nil {
		e.Error(err)
	}
}

// finish runs until just machine-1 is gone, its host powered off, and no mark is left.
func (e *executor) finish(meanwhile func()) {
	e.Helper()
	stop := e.play()
	defer stop()
	ctx, cancel := context.WithCancel(e.Context())
	done := make(chan struct{})
	go func() { defer close(done); e.run(ctx) }()
	defer func() { cancel(); <-done }()
	meanwhile()
	var left []string
	await(e.T, "end of the command", func() bool {
		h, err := cluster.Hosts(e.Namespace).Get(e.Context(), filepath.Base(e.action.Hosts[0].Name), metav1.GetOptions{})
		if err != nil {
			e.Fatal(err)
		}
		online, _, _ := unstructured.NestedBool(h.Object, "spec", "online")
		left = e.leftovers()
		return !online && len(left) == 0 && len(e.machines()) == 3
	}, func() string { return strings.Join(left, "\n") + "\n" + e.log.String() })
	cancel()
	<-done
	stop()
	if gone := slices.DeleteFunc(e.Gone, func(m string) bool { return m > "machine-2" }); !slices.Equal(gone, []string{"machine-1"}) || e.replicas() != 3 {
		e.Errorf("gone %v, want machine-1 of the first ones alone; %d replicas, want 3\n%s", e.Gone, e.replicas(), e.log.String())
	}
}

// The replacement is there before the old node is drained, a PodDisruptionBudget is kept, and then the old Machine goes; with
// the rights of planner-execute, and where the nodes are of a workload cluster whose API server is away for a while.
func TestReplacementOfAHost(t *testing.T) {
	t.Parallel()
	for name, nodes := range map[string]*realkube.Kube{"own": cluster, "workload": workloads(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExecutor(t, nodes)
			old := e.action.Hosts[0]
			allow := e.guardedPod("web", old.Node)
			allow(0)
			e.finish(func() {
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
