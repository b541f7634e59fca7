package deploytest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
)

// rights are those that the settings need: not one less, and not one more.
func (d *deployed) rights(t *testing.T) {
	if diff := cmp.Diff(d.needed(), d.granted(t)); diff != "" {
		t.Errorf("-needed +granted:\n%s", diff)
	}
	if token := d.Spec.Template.Spec.AutomountServiceAccountToken; !d.beside && (token == nil || *token != d.config.Kubernetes.On) {
		t.Errorf("KUBERNETES is %t, the pod's token is mounted: %v", d.config.Kubernetes.On, token)
	}
}

// granted is what the pod's service account may do, a line for each verb: where, group, resource, name where it is bound
// to one, verb. Bindings of other accounts fail the test.
func (d *deployed) granted(t *testing.T) (lines []string) {
	account := d.Spec.Template.Spec.ServiceAccountName
	observes := slices.Contains(d.container.Env, corev1.EnvVar{Name: "IRONIC_THROTTLE_MODE", Value: "observe"}) // the overlay
	if account == "" {
		account = operatorPod // a patch of BMO does not show it
	}
	for _, o := range slices.Concat(d.kind("ClusterRoleBinding"), d.kind("RoleBinding")) {
		b := as[rbacv1.ClusterRoleBinding](t, o) // of the same fields as a RoleBinding
		want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: d.system}}
		if observes && b.Name == "ironic-throttle-operator" { // its gateway will be in BMO's pod
			want = append(want, rbacv1.Subject{Kind: "ServiceAccount", Name: operatorPod, Namespace: d.system})
		}
		role := one[rbacv1.ClusterRole](t, d.manifest, b.RoleRef.Kind, b.RoleRef.Name)
		if !slices.Equal(b.Subjects, want) || role.Namespace != "" && role.Namespace != b.Namespace {
			t.Errorf("%s: is of %v, and the pod is %v", b.Name, b.Subjects, want)
		}
		where := b.Namespace
		if where == "" {
			where = "cluster"
		}
		for _, r := range role.Rules {
			lines = append(lines, spread(where, r)...)
		}
	}
	slices.Sort(lines)
	return lines
}

// spread is one line for each thing that r allows.
func spread(where string, r rbacv1.PolicyRule) (lines []string) {
	names := r.ResourceNames
	if len(names) == 0 {
		names = []string{"*"}
	}
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			for _, name := range names {
				for _, verb := range r.Verbs {
					lines = append(lines, fmt.Sprintf("%s %s/%s %s %s", where, group, resource, name, verb))
				}
			}
		}
	}
	return lines
}

// needed is what serve does with these settings, as the packages below internal/kube say of themselves. e2e/kube takes
// each right away once, to see what breaks.
func (d *deployed) needed() (lines []string) {
	c, k := d.config, d.config.Kubernetes
	if !k.On {
		return nil
	}
	need := func(where string, what ...string) {
		for _, w := range what {
			lines = append(lines, where+" "+w)
		}
	}
	need(k.Namespace, "apps/deployments "+k.Operator+" get", "/events * create")
	switch { // BMO's settings: by name where that is known
	case c.Ironic.Endpoint == "" && c.Ironic.Name == "":
		need(k.Namespace, "/configmaps * get")
		if !slices.Contains(d.dirs, "/opt/metal3/auth/ironic") {
			need(k.Namespace, "/secrets * get")
		}
	case d.beside:
		need(k.Namespace, "/configmaps "+d.Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name+" get")
	default:
		need(k.Namespace, "/configmaps ironic get")
	}
	hosts := []string{"cluster"}
	if len(k.Watch) > 0 {
		hosts = k.Watch
	}
	for _, where := range hosts {
		need(where, "metal3.io/baremetalhosts * list", "metal3.io/baremetalhosts * watch", "/events * create",
			"cluster.x-k8s.io/machines * list", "cluster.x-k8s.io/machinehealthchecks * list")
	}
	if k.Leader.Elect { // and the leader's label
		lease := "coordination.k8s.io/leases "
		need(k.Namespace, lease+"* create", lease+k.Leader.LeaseName+" get", lease+k.Leader.LeaseName+" update", "/pods * patch")
	}
	if name := c.Ironic.Name; name != "" {
		authority := map[string]string{"ironic": "ironic-cert", "my-ironic": "my-ironic-tls"}[name]
		need(c.IronicNamespace(), "ironic.metal3.io/ironics "+name+" get", "/secrets "+name+"-credentials get", "/secrets "+authority+" get")
	}
	if name := c.Holdoff.ConfigMap; name != "" {
		need(k.Namespace, "/configmaps * create", "/configmaps "+name+" get", "/configmaps "+name+" update")
	}
	for _, guarded := range []bool{c.Guarded(), c.MetricsGuarded()} { // each by a component of its own
		if guarded {
			need("cluster", "authentication.k8s.io/tokenreviews * create", "authorization.k8s.io/subjectaccessreviews * create")
		}
	}
	if c.Disruption.On() {
		need("cluster", plannerRights...)
	}
	if c.Disruption.Mode == config.DisruptionExecute {
		need("cluster", executorRights...)
	}
	slices.Sort(lines)
	return lines
}

var (
	plannerRights = []string{ // of internal/kube/fleet
		"/nodes * list", "/pods * list", "/persistentvolumeclaims * list", "/persistentvolumes * list",
		"policy/poddisruptionbudgets * list", "storage.k8s.io/csinodes * list", "metal3.io/baremetalhosts * list",
		"metal3.io/hostfirmwaresettings * list", "metal3.io/hostfirmwarecomponents * list", "metal3.io/hostupdatepolicies * list",
		"cluster.x-k8s.io/machines * list", "cluster.x-k8s.io/machinesets * list", "cluster.x-k8s.io/machinedeployments * list",
		"infrastructure.cluster.x-k8s.io/metal3machines * list", "infrastructure.cluster.x-k8s.io/metal3machinetemplates * list",
	}
	executorRights = []string{ // of internal/kube/execute besides
		"metal3.io/baremetalhosts * get", "metal3.io/baremetalhosts * patch",
		"cluster.x-k8s.io/machines * get", "cluster.x-k8s.io/machines * patch", "cluster.x-k8s.io/machines * delete",
		"cluster.x-k8s.io/machinesets * get", "cluster.x-k8s.io/machinesets * patch",
		"cluster.x-k8s.io/machinedeployments * get", "cluster.x-k8s.io/machinedeployments * patch",
		"infrastructure.cluster.x-k8s.io/metal3machines * get", "/nodes * get", "/nodes * patch", "/pods/eviction * create",
	}
)

// TestClientRoles: who asks takes slots, who looks changes nothing, and nobody has any of it by our doing.
func TestClientRoles(t *testing.T) {
	m := kustomize(t, casesDir+"/everything")
	const look = "[/ /page.css /page.js /why/* /v1/status /v1/slots /v1/queue /v1/why/* /v1/holds /v1/breakers /v1/plan /v1/plan/hosts/*] [get head]"
	for name, want := range map[string]string{
		"asker": "[/v1/isready] [get post]", "viewer": look, "metrics-reader": "[/metrics] [get]",
		"operator": "[/v1/holds/* /v1/breakers/*] [post]",
	} {
		var got []string
		for _, r := range one[rbacv1.ClusterRole](t, m, "ClusterRole", throttle+"-"+name).Rules {
			got = append(got, fmt.Sprint(r.NonResourceURLs, " ", r.Verbs))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", name, text, want)
		}
		for _, o := range m.kind("ClusterRoleBinding") {
			if as[rbacv1.ClusterRoleBinding](t, o).RoleRef.Name == throttle+"-"+name {
				t.Errorf("%s gives %s away", o.GetName(), name)
			}
		}
	}
}
