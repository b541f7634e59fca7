//go:build e2e

package kube

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// given lists what the roles among the objects allow in the API of Kubernetes, as "group/resource verb".
func given(objects []*unstructured.Unstructured) (all []string) {
	for _, o := range objects {
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		for _, rule := range rules {
			for _, group := range texts(rule, "apiGroups") {
				for _, resource := range texts(rule, "resources") {
					for _, verb := range texts(rule, "verbs") {
						all = append(all, group+"/"+resource+" "+verb)
					}
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func texts(rule any, field string) []string {
	found, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), field)
	return found
}

// asked reads of the API server's audit log what the throttle of a namespace has asked for, and what it was refused.
func asked(t *testing.T, namespace string) (all, refused []string) {
	t.Helper()
	text, err := os.ReadFile(cluster.Audit)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var event struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef *struct{ APIGroup, Resource string }
			Response  struct{ Code int } `json:"responseStatus"`
		}
		if json.Unmarshal([]byte(line), &event) != nil || event.ObjectRef == nil || event.User.Username != "system:serviceaccount:"+namespace+":"+account {
			continue
		}
		right := event.ObjectRef.APIGroup + "/" + event.ObjectRef.Resource + " " + event.Verb
		if all = append(all, right); event.Response.Code == 403 {
			refused = append(refused, right)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), refused
}

// sceneObjects are what a throttle finds that uses all of its rights: hosts whose Machines are checked.
const sceneObjects = `
{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineHealthCheck, metadata: {name: workers, namespace: NS},
 spec: {clusterName: c, selector: {matchLabels: {pool: workers}}, checks: {nodeStartupTimeoutSeconds: 1}}}
`

const sceneHost = `
{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: host-N, namespace: NS},
 spec: {online: true, consumerRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, namespace: NS, name: m3m-N}},
 status: {operationalStatus: OK, errorMessage: "", errorCount: 0, poweredOn: false, provisioning: {ID: UUID, state: available}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: machine-N, namespace: NS, labels: {cluster.x-k8s.io/cluster-name: c, pool: workers}},
 spec: {clusterName: c, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: m3m-N}}}
`

// TestRightsAreExactlyEnough deploys the throttle with what the manifests allow it, and lets all happen that it needs rights
// for: of three hosts the first to work fails, the others wait, and somebody looks at its status. It asks the API server for
// all that it may, and for nothing else.
func TestRightsAreExactlyEnough(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"everything", "namespace-scoped"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := namespace(t, "rights")
			objects := rights(t, filepath.Join(testCases, name), ns)
			want := given(objects)
			if len(want) < 3 {
				t.Fatalf("found the rights %q: the search is broken", want)
			}
			if name != "everything" { // what the scene needs besides
				for _, o := range rights(t, filepath.Join(testCases, "everything"), ns) {
					watches := o.GetName() == "ironic-throttle-"+ns
					if !watches && !slices.ContainsFunc(objects, func(has *unstructured.Unstructured) bool {
						return has.GetKind() == o.GetKind() && has.GetName() == o.GetName()
					}) {
						objects = append(objects, o)
					}
				}
				want = given(objects)
			}
			act := setScene(t, ns, objects)
			var all, refused []string
			await(t, "use of all rights", func() bool {
				act()
				all, refused = asked(t, ns)
				return len(all) >= len(want)
			}, func() string { return fmt.Sprintf("%q, want %q", all, want) })
			if !slices.Equal(all, want) || len(refused) > 0 {
				t.Errorf("it asked for\n%q, may\n%q, and was refused\n%q", all, want, refused)
			}
		})
	}
}

// setScene starts a throttle with those rights; act does what can be done at a time.
func setScene(t *testing.T, ns string, objects []*unstructured.Unstructured) (act func()) {
	t.Helper()
	f := serveIronic(t, 24*time.Hour)
	text, nodes := strings.ReplaceAll(sceneObjects, "NS", ns), []string{}
	for _, n := range []string{"0", "1", "2"} {
		nodes = append(nodes, f.node(t, ns+"~host-"+n))
		text += "---" + strings.NewReplacer("NS", ns, "-N", "-"+n, "UUID", nodes[len(nodes)-1]).Replace(sceneHost)
	}
	cluster.ApplyText(t, text)
	kubeconfig := deploy(t, ns, objects)
	makePod(t, ns, "ironic-throttle-0")
	for _, o := range built(t, besideReleased(t, "resources: [BMO/config/default]\n")) { // the operator, with its settings
		if kind := o.GetKind(); kind == "Deployment" || kind == "ConfigMap" {
			o.SetNamespace(ns)
			cluster.Apply(t, o)
		}
	}
	cert := certificate(t)
	p := serve(t, clustered(f.URL, kubeconfig, ns).with(settings{
		"MAX_CONCURRENT_PROVISIONING_HOSTS": "1", ours + "FAILED_HOST_HOLDOFF": "48h",
		ours + "API_ACCESS": "kubernetes", ours + "TLS_CERT_DIR": filepath.Dir(cert),
		ours + "LEADER_ELECT": "true", ours + "STATE": "configmap:ironic-throttle",
	}))
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token(t, ns, "looker", "ironic-throttle-viewer-"+ns)), 0o600); err != nil {
		t.Fatal(err)
	}
	looker, err := api.NewClient(p.At.API, api.Options{TokenFile: file, RootCAs: cert})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(looker.CloseIdleConnections)
	failed, client := false, trusting(t, cert)
	return func() {
		for _, node := range nodes {
			p.request(client, "put", p.At.Gateway+"/v1/nodes/"+node+"/states/provision", `{"target":"active"}`, "")
		}
		_, _ = looker.Status(t.Context()) // refused, until it leads
		f.With(func(now time.Time, w *fakeironic.World) {
			for _, node := range nodes {
				failed = failed || w.Befall(now, node, fakeironic.FateFailNow) == nil
			}
		})
	}
}

// ironicObjects are IrSO's definition of an Ironic, as far as the throttle reads it (the module of IrSO's API has none), one
// that is ready, and its credentials.
const ironicObjects = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ironics.ironic.metal3.io}
spec:
  group: ironic.metal3.io
  names: {kind: Ironic, listKind: IronicList, plural: ironics, singular: ironic}
  scope: Namespaced
  versions: [{name: v1alpha1, served: true, storage: true, subresources: {status: {}},
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
{apiVersion: v1, kind: Secret, metadata: {name: ironic-credentials, namespace: NS}, stringData: {username: ironic, password: sesame}}
---
{apiVersion: ironic.metal3.io/v1alpha1, kind: Ironic, metadata: {name: ironic, namespace: NS}, spec: {apiCredentialsName: ironic-credentials},
 status: {conditions: [{type: Ready, status: "True", reason: DeploymentAvailable, message: "", lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1}]}}
`

// TestIronicIsFoundByItsResource: with the rights of the manifests alone, and without the definition, the resource and its
// Secret at first.
func TestIronicIsFoundByItsResource(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "irso")
	p := serve(t, clustered("", deploy(t, ns, rights(t, overlays+"/standalone-irso", ns)), ns).with(settings{
		"IRONIC_NAME": "ironic", "METAL3_AUTH_ROOT_DIR": "", "IRONIC_CACERT_FILE": "",
	}))
	p.AwaitStatus("word of the missing definition", func(st api.Status) bool {
		return strings.Contains(strings.Join(st.Warnings, "\n"), "the server could not find the requested resource")
	})
	for _, o := range decode(t, strings.ReplaceAll(ironicObjects, "NS", ns)) {
		await(t, "definition that is served", func() bool { return cluster.TryApply(t.Context(), o.DeepCopy()) == nil }, o.GetKind)
		cluster.Apply(t, o)
	}
	st := p.AwaitStatus("address of Ironic", func(st api.Status) bool {
		return strings.Contains(st.Settings["ironicEndpoint"], "ironic."+ns+".svc")
	})
	if said := strings.Join(st.Warnings, "\n"); strings.Contains(said, "IRONIC_NAME") {
		t.Errorf("it is found, and warns: %s", said)
	}
}

// certificate is a file that throttle and clients are given; its key lies beside it.
func certificate(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "tls.crt")
	if err := child.WriteCertificate(file, strings.TrimSuffix(file, ".crt")+".key"); err != nil {
		t.Fatal(err)
	}
	return file
}

// token is that of a ServiceAccount, made here with these cluster roles.
func token(t *testing.T, namespace, account string, roles ...string) string {
	t.Helper()
	for i, role := range roles {
		cluster.ApplyText(t, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %s-%s-%d},
			roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s},
			subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[1]s}]}`, namespace, account, i, role))
	}
	return cluster.Token(t, namespace, account)
}
