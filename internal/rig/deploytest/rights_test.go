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

// granted is what the pod's service account may do, a line for each verb: where, group,
// resource, name where it is bound to one, verb. Bindings of other accounts fail the test.
func granted(t *testing.T, m manifest) (lines []string) {
	t.Helper()
	d, c := m.deployment(t)
	account := d.Spec.Template.Spec.ServiceAccountName
	observes := slices.Contains(c.Env, corev1.EnvVar{Name: "IRONIC_THROTTLE_MODE", Value: "observe"}) // the overlay
	if account == "" {
		account = operatorPod // a patch of BMO does not show it
	}
	for _, o := range slices.Concat(m.kind("ClusterRoleBinding"), m.kind("RoleBinding")) {
		var b rbacv1.ClusterRoleBinding // of the same fields as a RoleBinding
		o.into(t, &b)
		want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: m.system(t)}}
		if observes && o.Name == "ironic-throttle-operator" { // its gateway will be in BMO's pod
			want = append(want, rbacv1.Subject{Kind: "ServiceAccount", Name: operatorPod, Namespace: m.system(t)})
		}
		if !slices.Equal(b.Subjects, want) {
			t.Errorf("%s: is of %v, and the pod is %v", o, b.Subjects, want)
		}
		where := o.Namespace
		if where == "" {
			where = "cluster"
		}
		for _, r := range rulesOf(t, m, b.RoleRef, o.Namespace) {
			lines = append(lines, spread(where, r)...)
		}
	}
	slices.Sort(lines)
	return lines
}

func rulesOf(t *testing.T, m manifest, ref rbacv1.RoleRef, namespace string) []rbacv1.PolicyRule {
	t.Helper()
	o := m.one(t, ref.Kind, ref.Name)
	if ref.Kind == "Role" && o.Namespace != namespace {
		t.Errorf("%s: its binding is in %s", o, namespace)
	}
	var role rbacv1.ClusterRole // of the same fields as a Role
	o.into(t, &role)
	return role.Rules
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

// needed is what serve does with these settings, as the packages below internal/kube
// say of themselves.
func needed(t *testing.T, m manifest, c config.Config) (lines []string) {
	t.Helper()
	k := c.Kubernetes
	if !k.On {
		return nil
	}
	lines = append(lines, k.Namespace+" apps/deployments "+k.Operator+" get", k.Namespace+" /events * create")
	if c.Ironic.Endpoint != "" || c.Ironic.Name != "" {
		lines = append(lines, k.Namespace+" /configmaps "+operatorSettings(t, m)+" get")
	} else { // beside a BMO whose names nobody knows here
		lines = append(lines, k.Namespace+" /configmaps * get")
		if _, dirs := mounts(t, m); !slices.Contains(dirs, "/opt/metal3/auth/ironic") {
			lines = append(lines, k.Namespace+" /secrets * get")
		}
	}
	hosts := []string{"cluster"}
	if len(k.Watch) > 0 {
		hosts = k.Watch
	}
	for _, where := range hosts {
		add := func(what string) { lines = append(lines, where+" "+what) }
		add("metal3.io/baremetalhosts * list")
		add("metal3.io/baremetalhosts * watch")
		add("/events * create")
		add("cluster.x-k8s.io/machines * list")
		add("cluster.x-k8s.io/machinehealthchecks * list")
	}
	if k.Leader.Elect {
		for _, what := range []string{"* create", k.Leader.LeaseName + " get", k.Leader.LeaseName + " update"} {
			lines = append(lines, k.Namespace+" coordination.k8s.io/leases "+what)
		}
		lines = append(lines, k.Namespace+" /pods * patch") // the leader's label
	}
	if name := c.Ironic.Name; name != "" {
		secrets := map[string][]string{"ironic": {"ironic-credentials", "ironic-cert"}, "my-ironic": {"my-ironic-credentials", "my-ironic-tls"}}[name]
		for _, what := range []string{"ironic.metal3.io/ironics " + name, "/secrets " + secrets[0], "/secrets " + secrets[1]} {
			lines = append(lines, c.IronicNamespace()+" "+what+" get")
		}
	}
	if name := c.Holdoff.ConfigMap; name != "" {
		for _, what := range []string{"* create", name + " get", name + " update"} {
			lines = append(lines, k.Namespace+" /configmaps "+what)
		}
	}
	if c.Disruption.On() {
		lines = append(lines, plannerRights...)
	}
	for _, guarded := range []bool{c.Guarded(), c.MetricsGuarded()} { // each by a component of its own
		if guarded {
			lines = append(lines, "cluster authentication.k8s.io/tokenreviews * create", "cluster authorization.k8s.io/subjectaccessreviews * create")
		}
	}
	if c.Disruption.Mode == config.DisruptionExecute {
		lines = append(lines, executorRights...)
	}
	slices.Sort(lines)
	return lines
}

// plannerRights are those of internal/kube/fleet.
var plannerRights = []string{
	"cluster /nodes * list", "cluster /pods * list", "cluster /persistentvolumeclaims * list", "cluster /persistentvolumes * list",
	"cluster apps/daemonsets * list", "cluster policy/poddisruptionbudgets * list", "cluster storage.k8s.io/csinodes * list",
	"cluster metal3.io/baremetalhosts * list", "cluster metal3.io/hostfirmwaresettings * list", "cluster metal3.io/hostfirmwarecomponents * list", "cluster metal3.io/hostupdatepolicies * list",
	"cluster cluster.x-k8s.io/machines * list", "cluster cluster.x-k8s.io/machinesets * list", "cluster cluster.x-k8s.io/machinedeployments * list",
	"cluster infrastructure.cluster.x-k8s.io/metal3machines * list", "cluster infrastructure.cluster.x-k8s.io/metal3machinetemplates * list",
}

// operatorSettings is what BMO's ConfigMap is called.
func operatorSettings(t *testing.T, m manifest) string {
	t.Helper()
	if d, _ := m.deployment(t); sidecar(d) {
		return d.Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name
	}
	return "ironic"
}

// TestRightsAreThoseThatTheSettingsNeed: not one less, and not one more.
func TestRightsAreThoseThatTheSettingsNeed(t *testing.T) {
	each(t, func(t *testing.T, m manifest) {
		c := loaded(t, m)
		if diff := cmp.Diff(needed(t, m, c), granted(t, m)); diff != "" {
			t.Errorf("-needed +granted:\n%s", diff)
		}
		d, _ := m.deployment(t)
		if token := d.Spec.Template.Spec.AutomountServiceAccountToken; !sidecar(d) && (token == nil || *token != c.Kubernetes.On) {
			t.Errorf("KUBERNETES is %t, the pod's token is mounted: %v", c.Kubernetes.On, token)
		}
	})
}

// TestClientRoles: who asks takes slots, who looks changes nothing, and nobody has any of
// it by our doing.
func TestClientRoles(t *testing.T) {
	m := build(t, deployDir+"/overlays/standalone")
	want := map[string]map[string][]string{
		"ironic-throttle-asker": {"/v1/isready": {"get", "post"}},
		"ironic-throttle-viewer": {
			"/": {"get", "head"}, "/page.css": {"get", "head"}, "/page.js": {"get", "head"},
			"/why/*": {"get", "head"}, "/v1/why/*": {"get", "head"},
			"/v1/status": {"get", "head"}, "/v1/slots": {"get", "head"}, "/v1/queue": {"get", "head"},
			"/v1/holds": {"get", "head"}, "/v1/breakers": {"get", "head"},
			"/v1/plan": {"get", "head"}, "/v1/plan/hosts/*": {"get", "head"},
		},
		"ironic-throttle-operator": {"/v1/holds/*": {"post"}, "/v1/breakers/*": {"post"}, "/v1/plan/state": {"get", "head"}},
	}
	got := map[string]map[string][]string{}
	for _, o := range m.kind("ClusterRole") {
		var role rbacv1.ClusterRole
		o.into(t, &role)
		for _, r := range role.Rules {
			for _, url := range r.NonResourceURLs {
				if got[o.Name] == nil {
					got[o.Name] = map[string][]string{}
				}
				got[o.Name][url] = r.Verbs
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, o := range m.kind("ClusterRoleBinding") {
		for name := range want {
			if strings.Contains(string(o.text), name+"\n") {
				t.Errorf("%s gives %s away", o, name)
			}
		}
	}
}
