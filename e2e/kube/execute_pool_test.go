//go:build e2e

package kube

import (
	"context"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/capiplayer"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// capi is a pool on the API server that a Player plays. Its nodes are there too, or of a workload cluster.
type capi struct {
	*testing.T
	*capiplayer.Player
	nodes *realkube.Kube
	core  kubernetes.Interface // of nodes
}

// playCAPI makes a pool of three Machines in service, and free hosts.
func playCAPI(t *testing.T, ns string, nodes *realkube.Kube, free int) *capi {
	t.Helper()
	own, err := kube.NewClient(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	c := &capi{T: t, nodes: nodes, Player: &capiplayer.Player{Own: own, Nodes: own, Namespace: ns, Infrastructure: "v1beta1"}}
	if c.core, err = kubernetes.NewForConfig(nodes.Config()); err != nil {
		t.Fatal(err)
	}
	if nodes != cluster {
		if c.Nodes, err = kube.NewClient(nodes.Config()); err != nil {
			t.Fatal(err)
		}
		there := &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		if _, err := c.core.CoreV1().Namespaces().Create(t.Context(), there, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Start(t.Context(), 3, free); err != nil {
		t.Fatal(err)
	}
	return c
}

// play goes on until the test ends it.
func (c *capi) play() (stop func()) {
	ctx, cancel := context.WithCancel(c.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := c.Turn(ctx); err != nil && ctx.Err() == nil {
				c.Error(err)
			}
			c.kubelet(ctx)
			wait(ctx, 20*time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

// kubelet ends pods that terminate.
func (c *capi) kubelet(ctx context.Context) {
	pods, err := c.core.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return // the test has ended
	}
	for _, p := range pods.Items {
		if p.DeletionTimestamp != nil {
			_ = c.core.CoreV1().Pods(c.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		}
	}
}

// guardedPod makes a pod on a node that a PodDisruptionBudget protects, and says how many may go now.
func (c *capi) guardedPod(name, node string) (allow func(n int32)) {
	c.Helper()
	ctx, labels := c.Context(), map[string]string{"app": name}
	pod := &core.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace, Labels: labels},
		Spec: core.PodSpec{NodeName: node, Containers: []core.Container{{Name: "c", Image: "i", SecurityContext: &core.SecurityContext{
			AllowPrivilegeEscalation: new(bool), RunAsNonRoot: new(true), RunAsUser: new(int64(1000)),
			Capabilities:   &core.Capabilities{Drop: []core.Capability{"ALL"}},
			SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault},
		}}}},
	}
	if err := c.nodes.Account(ctx, c.Namespace, "default"); err != nil {
		c.Fatal(err)
	}
	made, err := c.core.CoreV1().Pods(c.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	made.Status = core.PodStatus{Phase: core.PodRunning, Conditions: []core.PodCondition{{Type: core.PodReady, Status: core.ConditionTrue}}}
	if _, err := c.core.CoreV1().Pods(c.Namespace).UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		c.Fatal(err)
	}
	budgets := c.core.PolicyV1().PodDisruptionBudgets(c.Namespace)
	budget, err := budgets.Create(ctx, &policy.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace},
		Spec:       policy.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return func(n int32) {
		c.Helper()
		budget.Status = policy.PodDisruptionBudgetStatus{
			ObservedGeneration: budget.Generation, DisruptionsAllowed: n, CurrentHealthy: 1, DesiredHealthy: 1 - n, ExpectedPods: 1,
		}
		if budget, err = budgets.UpdateStatus(ctx, budget, metav1.UpdateOptions{}); err != nil {
			c.Fatal(err)
		}
	}
}

// leftovers are marks of the throttle.
func (c *capi) leftovers() []string {
	c.Helper()
	left, err := c.Leftovers(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	return left
}

// machines are those that there are.
func (c *capi) machines() (names []string) {
	c.Helper()
	all, err := c.MachinesNow(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	for _, m := range all {
		names = append(names, m.Name)
	}
	return names
}

// replicas are those that the owner wants.
func (c *capi) replicas() int {
	c.Helper()
	owner, err := c.Owner(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	return *owner.Spec.Replicas
}

// target is the host of a Machine as a plan names it.
func (c *capi) target(machine string) api.PlanHost {
	c.Helper()
	hosts, err := c.HostsNow(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	for _, h := range hosts {
		if h.Spec.ConsumerRef != nil && h.Spec.ConsumerRef.Name == machine {
			return api.PlanHost{Name: c.Namespace + "/" + h.Name, Machine: c.Namespace + "/" + machine, Node: c.NodeOf(machine), PowerOff: true}
		}
	}
	c.Fatalf("%s has no host", machine)
	return api.PlanHost{}
}
