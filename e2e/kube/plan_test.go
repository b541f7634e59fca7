//go:build e2e

package kube

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// run is a command of the product about this throttle.
func (p *throttle) run(args ...string) (out, said string, code int) {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = child.ProductEnvironment("IRONIC_THROTTLE_URL="+p.At.API), &stdout, &stderr
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// must is run of what has to succeed.
func (p *throttle) must(args ...string) (out string) {
	p.Helper()
	out, said, code := p.run(args...)
	if code != 0 || said != "" {
		p.Fatalf("%q: exit code %d, %s", args, code, said)
	}
	return out
}

// releases reports whether a plan releases the empty host alone.
func releases(plan api.Plan) bool {
	return plan.Blocked == "" && plan.Method == api.MethodEmptiness && len(plan.Actions) == 1 && plan.Actions[0].Decision == api.PlanRelease &&
		len(plan.Actions[0].Hosts) == 1 && strings.HasSuffix(plan.Actions[0].Hosts[0].Name, "/host-1")
}

// TestThePlanOfLiveObjects, with the rights of the component alone.
func TestThePlanOfLiveObjects(t *testing.T) {
	t.Parallel()
	plan := playMortal(t, "planner", cluster, "", 0).lives().planOf("release of the empty host", releases)
	if !plan.DryRun || plan.Hosts != 3 || !slices.ContainsFunc(plan.Excluded, func(e api.PlanExcluded) bool { return e.Condition == "PodsMovable" && e.Hosts == 2 }) {
		t.Errorf("dry run %v of %d hosts, excluded are %v", plan.DryRun, plan.Hosts, plan.Excluded)
	}
}

// mayGetKubeconfig allows the throttle to read the kubeconfig of the Cluster c.
func mayGetKubeconfig(t *testing.T, ns string) {
	t.Helper()
	applyLive(t, cluster, decode(t, strings.ReplaceAll(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: kubeconfigs, namespace: NS}, rules: [{apiGroups: [""], resources: [secrets], resourceNames: [c-kubeconfig], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: kubeconfigs, namespace: NS}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kubeconfigs},
 subjects: [{kind: ServiceAccount, name: ironic-throttle, namespace: NS}]}
`, "NS", ns)))
}

// holdKubeconfig puts it into the Secret of the Cluster c.
func holdKubeconfig(t *testing.T, ns string, kubeconfig []byte) {
	t.Helper()
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"value": base64.StdEncoding.EncodeToString(kubeconfig)}}}
	secret.SetNamespace(ns)
	secret.SetName("c-kubeconfig")
	cluster.Apply(t, secret)
}

// planOf waits for a plan that is as wanted.
func (p *throttle) planOf(what string, wanted func(api.Plan) bool) (plan api.Plan) {
	p.Helper()
	var text string
	awaitFor(p.T, 2*time.Minute, what, func() bool {
		text, plan = p.must("plan", "-o", "json"), api.Plan{}
		if err := json.Unmarshal([]byte(text), &plan); err != nil {
			p.Fatal(err)
		}
		return wanted(plan)
	}, func() string { return text })
	return plan
}

// TestThePlanOfAWorkloadCluster: the nodes of the hosts are of another API server, which is reached by the Secret of their
// Cluster. What keeps it from being read is said, and nothing is planned there.
func TestThePlanOfAWorkloadCluster(t *testing.T) {
	t.Parallel()
	far := workloads(t)
	network := far.Proxy(t)
	m := playMortal(t, "planner", far, "", 0)
	ns, p := m.Namespace, m.lives()
	away := func(why string) {
		t.Helper()
		plan := p.planOf("word of "+why, func(plan api.Plan) bool {
			return plan.Blocked == "" && len(plan.Clusters) == 1 && strings.Contains(plan.Clusters[0].Fault, why)
		})
		if len(plan.Actions)+len(plan.Later) > 0 || plan.Clusters[0].Name != ns+"/c" || !slices.ContainsFunc(plan.Excluded, func(e api.PlanExcluded) bool { return e.Condition == "Cluster" && e.Hosts == 3 }) {
			t.Errorf("%+v", plan)
		}
	}
	away("the throttle may not get the Secret c-kubeconfig")
	mayGetKubeconfig(t, ns)
	away("there is no Secret c-kubeconfig")
	admin, err := far.AdminKubeconfig(network.URL)
	if err != nil {
		t.Fatal(err)
	}
	hold := func(kubeconfig []byte) { t.Helper(); holdKubeconfig(t, ns, kubeconfig) }
	hold(bytes.Replace(admin, []byte("    token:"), []byte("    exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}\n    token:"), 1))
	away("neither run programs nor name files")
	hold(bytes.Replace(admin, []byte("    token: "), []byte("    token: not-"), 1))
	away("Unauthorized")
	hold(admin) // renewed
	plan := p.planOf("release of the empty host", releases)
	if h := plan.Actions[0].Hosts[0]; h.Cluster != ns+"/c" || h.Node != m.NodeOf("machine-1") || len(plan.Clusters) != 1 || plan.Clusters[0].Nodes < 3 || plan.Clusters[0].Fault != "" {
		t.Errorf("%+v, clusters %+v", h, plan.Clusters)
	}
	network.Swallow()
	away("imeout") // of the request, or of the TLS handshake before it
	network.Mend()
	p.planOf("the cluster is back", releases)
}
