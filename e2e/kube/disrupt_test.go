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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/internal/disrupt"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/work"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// oneRelease is a planner that wants one host released until its Machine is gone.
type oneRelease struct {
	*capi
	action api.PlanAction
	clock
}

// clock runs a hundred times as fast while a plan waits to be validated.
type clock struct {
	mu         sync.Mutex
	fast       bool
	real, told time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := time.Now()
	if c.real.IsZero() {
		c.real, c.told = is, is
	}
	passed := is.Sub(c.real)
	if c.fast {
		passed *= 100
	}
	c.real, c.told = is, c.told.Add(passed)
	return c.told
}

func (c *clock) set(fast bool) {
	c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fast = fast
}

func (p *oneRelease) State(ctx context.Context) (*disruption.State, error) {
	return &disruption.State{Pools: []disruption.Pool{{
		Key: disruption.Key{Namespace: p.ns, Name: "workers"}, Kind: disruption.PoolMachineDeployment, Scales: true, Execute: true,
	}}}, ctx.Err()
}

func (p *oneRelease) Plan(ctx context.Context, _ *disruption.State, now time.Time) (api.Plan, error) {
	p.set(true)
	plan := api.Plan{MadeAt: now, ExecuteAfter: now.Add(disruption.ValidateAfter)}
	machine := filepath.Base(p.action.Hosts[0].Machine)
	if _, err := p.objects.Resource(machines).Namespace(p.ns).Get(ctx, machine, metav1.GetOptions{}); err == nil {
		plan.Actions = []api.PlanAction{p.action}
	}
	return plan, nil
}

func (p *oneRelease) Validate(ctx context.Context, _ api.Plan, _ *disruption.State, _ time.Time) error {
	p.set(false)
	return ctx.Err()
}

// Confirm is disrupt.Planner's.
func (p *oneRelease) Confirm(ctx context.Context, _ api.Plan, _ *disruption.State, _ time.Time) error {
	return ctx.Err()
}

// Hold is disrupt.Planner's.
func (p *oneRelease) Hold() string { return "" }

// target is the host of a Machine as a plan names it.
func (c *capi) target(machine string) api.PlanHost {
	c.Helper()
	for _, h := range c.all(c.Context(), bareMetal) {
		if consumerOf(&h) == machine {
			return api.PlanHost{Name: c.ns + "/" + h.GetName(), Machine: c.ns + "/" + machine, Node: c.nodeOf(machine), PowerOff: true}
		}
	}
	c.Fatalf("%s has no host", machine)
	return api.PlanHost{}
}

func (c *capi) release(machine string) *oneRelease {
	return &oneRelease{capi: c, action: api.PlanAction{
		ID: "a-1", Decision: api.PlanRelease, Reason: api.PlanEmpty, Pool: "MachineDeployment " + c.ns + "/workers",
		Hosts: []api.PlanHost{c.target(machine)}, Evidence: []string{"no pods"},
	}}
}

// executor has the rights of the manifests. Each call begins another process, as it were.
type executor struct {
	*testing.T
	config  *rest.Config
	planner *oneRelease
	ns      string
	log     *safeLog
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

func newExecutor(t *testing.T, c *capi, p *oneRelease) *executor {
	t.Helper()
	executorRights(t, c.ns)
	return &executor{T: t, config: as(t, c.ns, "executor"), planner: p, ns: c.ns, log: &safeLog{}}
}

// run carries out what there is until ctx ends. hook is between it and the API server.
func (e *executor) run(ctx context.Context, hook func(http.RoundTripper) http.RoundTripper) {
	e.Helper()
	config := rest.CopyConfig(e.config)
	if hook != nil {
		config.Wrap(hook)
	}
	client, err := work.New(work.Options{Config: config, Namespaces: []string{e.ns}, Instance: "executor"})
	if err != nil {
		e.Fatal(err)
	}
	r := disrupt.New(disrupt.Options{
		Planner: e.planner, Cluster: client, Now: e.planner.now, Every: 100 * time.Millisecond, Log: slog.New(slog.NewTextHandler(e.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err := r.Run(ctx); err != nil {
		e.Error(err)
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

// scene is a pool of three Machines and the planner that wants machine-1 to go.
func disruptScene(t *testing.T) (c *capi, e *executor, stop func()) {
	t.Helper()
	c = playCAPI(t, namespace(t, "disrupt"), 3, 0)
	e = newExecutor(t, c, c.release("machine-1"))
	return c, e, c.play()
}

// finished waits until just that Machine is gone, its host powered off, and no mark is left.
func (e *executor) finished(c *capi, host string) {
	e.Helper()
	var left []string
	await(e.T, "end of the command", func() bool {
		h, err := cluster.Hosts(c.ns).Get(e.Context(), host, metav1.GetOptions{})
		if err != nil {
			e.Fatal(err)
		}
		online, _, _ := unstructured.NestedBool(h.Object, "spec", "online")
		left = c.leftovers()
		return !online && len(left) == 0 && len(c.all(e.Context(), machines)) == 2
	}, func() string { return strings.Join(left, "\n") + "\n" + e.log.String() })
}

func (e *executor) verdict(c *capi) {
	e.Helper()
	if !slices.Equal(c.gone, []string{"machine-1"}) || len(c.all(e.Context(), machines)) != 2 {
		e.Errorf("gone %v, want machine-1 alone\n%s", c.gone, e.log.String())
	}
	md, err := c.objects.Resource(deployments).Namespace(c.ns).Get(e.Context(), "workers", metav1.GetOptions{})
	if err != nil {
		e.Fatal(err)
	}
	if n, _, _ := unstructured.NestedInt64(md.Object, "spec", "replicas"); n != 2 {
		e.Errorf("%d replicas, want 2", n)
	}
}

// TestExecutionOfAnEmptyHost: the owner gets smaller by one, and the annotated Machine is the one that goes; with
// the rights of planner-execute. Objects get Events.
func TestExecutionOfAnEmptyHost(t *testing.T) {
	t.Parallel()
	c, e, stop := disruptScene(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); e.run(ctx, nil) }()
	e.finished(c, filepath.Base(e.planner.action.Hosts[0].Name))
	cancel()
	<-done
	stop()
	e.verdict(c)
	events, err := cluster.List(t.Context(), "v1", "events", c.ns)
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

// TestDC29_ExecutionIsKilledAtEveryWrite: whichever write a process dies at, before or after it takes effect, the
// next one leaves nothing half done.
func TestDC29_ExecutionIsKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	const writes = 8 // TestReleaseOfAnEmptyHost of package disrupt counts them
	for at := range writes {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %v", at+1, after), func(t *testing.T) {
				t.Parallel()
				c, e, stop := disruptScene(t)
				defer stop()
				var sent atomic.Int64
				first, kill := context.WithTimeout(t.Context(), time.Minute)
				defer kill()
				e.run(first, func(inner http.RoundTripper) http.RoundTripper {
					return killer{inner: inner, at: int64(at + 1), after: after, writes: &sent, kill: kill}
				})
				if sent.Load() < int64(at+1) {
					t.Fatalf("it wrote %d times, and was to die at %d:\n%s", sent.Load(), at+1, e.log.String())
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); e.run(ctx, nil) }()
				e.finished(c, filepath.Base(e.planner.action.Hosts[0].Name))
				cancel()
				<-done
				stop()
				e.verdict(c)
			})
		}
	}
}
