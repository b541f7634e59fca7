//go:build e2e

package kube

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// guardedPod makes a pod on a node that a PodDisruptionBudget protects, and says how many may go now.
func (c *capi) guardedPod(name, node string) (allow func(n int32)) {
	c.Helper()
	ctx, labels := c.Context(), map[string]string{"app": name}
	falsehood := false
	var uid int64 = 1000
	nonRoot := true
	pod := &core.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.ns, Labels: labels},
		Spec: core.PodSpec{NodeName: node, Containers: []core.Container{{Name: "c", Image: "i", SecurityContext: &core.SecurityContext{
			AllowPrivilegeEscalation: &falsehood, RunAsNonRoot: &nonRoot, RunAsUser: &uid,
			Capabilities:   &core.Capabilities{Drop: []core.Capability{"ALL"}},
			SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault},
		}}}},
	}
	if err := cluster.Account(ctx, c.ns, "default"); err != nil {
		c.Fatal(err)
	}
	made, err := c.core.CoreV1().Pods(c.ns).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	made.Status = core.PodStatus{Phase: core.PodRunning, Conditions: []core.PodCondition{{Type: core.PodReady, Status: core.ConditionTrue}}}
	if _, err := c.core.CoreV1().Pods(c.ns).UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		c.Fatal(err)
	}
	one := intstr.FromInt32(1)
	budgets := c.core.PolicyV1().PodDisruptionBudgets(c.ns)
	budget, err := budgets.Create(ctx, &policy.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.ns},
		Spec:       policy.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}},
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

// kubelet ends pods that terminate.
func (c *capi) kubelet(ctx context.Context) {
	pods, err := c.core.CoreV1().Pods(c.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		c.wrong(ctx, err)
		return
	}
	for _, p := range pods.Items {
		if p.DeletionTimestamp != nil {
			now := int64(0)
			c.wrong(ctx, c.core.CoreV1().Pods(c.ns).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
		}
	}
}

// TestReplaceOnARealAPI: the replacement is there before the old node is drained, a PodDisruptionBudget is
// kept, and then the old Machine goes; with the rights of planner-execute.
func TestReplaceOnARealAPI(t *testing.T) {
	t.Parallel()
	c := playCAPI(t, namespace(t, "replace"), 2, 1)
	planner := c.release("machine-1")
	old := planner.action.Hosts[0]
	planner.action.Decision = api.PlanReplace
	planner.action.Replacement = &api.PlanHost{Name: c.ns + "/host-2"}
	allow := c.guardedPod("web", old.Node)
	allow(0)
	e := newExecutor(t, c, planner)
	// The youngest Machine must have been there for a minute.
	planner.now()
	planner.told = planner.told.Add(2 * time.Minute)
	stop := c.play()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); e.run(ctx, nil) }()
	await(t, "eviction that the budget refuses", func() bool {
		return strings.Contains(e.log.String(), "PodDisruptionBudget does not allow it now")
	}, e.log.String)
	node, err := c.core.CoreV1().Nodes().Get(t.Context(), old.Node, metav1.GetOptions{})
	if err != nil || !slices.ContainsFunc(node.Spec.Taints, func(x core.Taint) bool {
		return x.Key == "ironic-throttle.metal3.io/disrupting" && x.Effect == core.TaintEffectNoSchedule
	}) {
		t.Errorf("%v, taints %v", err, node.Spec.Taints)
	}
	if n := len(c.all(t.Context(), machines)); n != 3 {
		t.Errorf("%d Machines while the old node is drained, want 3", n)
	}
	allow(1)
	var left []string
	await(t, "end of the command", func() bool {
		c.kubelet(t.Context())
		left = c.leftovers()
		return len(left) == 0 && len(c.all(t.Context(), machines)) == 2 && strings.Contains(e.log.String(), "is done")
	}, func() string { return strings.Join(left, "\n") + "\n" + e.log.String() })
	cancel()
	<-done
	stop()
	if !slices.Equal(c.gone, []string{"machine-1"}) {
		t.Errorf("gone %v", c.gone)
	}
	h, err := cluster.Hosts(c.ns).Get(t.Context(), filepath.Base(old.Name), metav1.GetOptions{})
	if err != nil || consumerOf(h) != "" {
		t.Errorf("%v, the old host is claimed by %q", err, consumerOf(h))
	}
}
