//go:build e2e

package kube

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// right is one verb on one resource in a role of the manifests.
type right struct {
	role                  string // its name
	group, resource, verb string
}

// String is also the key of works.
func (r right) String() string {
	text := strings.TrimPrefix(r.group+"/", "/") + r.resource + " " + r.verb
	if r.resource == "configmaps" && r.role == "ironic-throttle-operator" {
		text += " of BMO"
	}
	return text
}

// rightsIn lists what the roles among the objects allow in the API of Kubernetes.
func rightsIn(objects []*unstructured.Unstructured) (all []right) {
	for _, o := range objects {
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		for _, rule := range rules {
			all = append(all, rightsOf(o.GetName(), rule)...)
		}
	}
	return all
}

func rightsOf(role string, rule any) (all []right) {
	for _, group := range texts(rule, "apiGroups") {
		for _, resource := range texts(rule, "resources") {
			for _, verb := range texts(rule, "verbs") {
				all = append(all, right{role, group, resource, verb})
			}
		}
	}
	return all
}

func texts(rule any, field string) []string {
	found, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), field)
	return found
}

// without takes one right away, from all roles that give it: API and metrics each have one for asking who somebody is.
func without(t *testing.T, objects []*unstructured.Unstructured, gone right) {
	t.Helper()
	taken := 0
	for _, o := range objects {
		rules, has, _ := unstructured.NestedSlice(o.Object, "rules")
		kept := []any{}
		for _, rule := range rules {
			each := rightsOf(o.GetName(), rule)
			if len(each) == 0 {
				kept = append(kept, rule) // of URLs
			}
			for _, r := range each {
				if r.String() == gone.String() {
					taken++
					continue
				}
				one := maps.Clone(rule.(map[string]any))
				one["apiGroups"], one["resources"], one["verbs"] = []any{r.group}, []any{r.resource}, []any{r.verb}
				kept = append(kept, one)
			}
		}
		if has {
			o.Object["rules"] = kept
		}
	}
	if taken == 0 {
		t.Fatalf("nobody gives %s", gone)
	}
}

// scene is a throttle that uses all its rights: of three hosts the first to work fails, the
// others wait, and somebody looks at its status.
type scene struct {
	*throttle
	ironic    *fakeIronic
	namespace string
	hosts     []realkube.Host
	failed    string // node of the host that has failed; empty: none yet
	looker    *api.Client
	last      api.Status
	lookError error
}

func setScene(t *testing.T, namespace string, objects []*unstructured.Unstructured) *scene {
	t.Helper()
	n := &scene{ironic: serveIronic(t, 24*time.Hour), namespace: namespace}
	for i := range 3 {
		h := realkube.Host{Namespace: namespace, Name: fmt.Sprintf("host-%d", i), Machine: fmt.Sprintf("m3m-%d", i)}
		h.NodeUUID = n.ironic.node(t, h.Namespace+"~"+h.Name)
		n.hosts = append(n.hosts, h)
	}
	if err := cluster.AddHosts(t.Context(), n.hosts); err != nil {
		t.Fatal(err)
	}
	addMachines(t, namespace, 1, n.hosts)
	kubeconfig := deploy(t, namespace, objects)
	makePod(t, namespace, "ironic-throttle-0")
	deployOperator(t, namespace, "resources: [BMO/config/default]\ngeneratorOptions: {disableNameSuffixHash: true}\n"+
		"configMapGenerator: [{name: ironic, behavior: merge, literals: [PROVISIONING_LIMIT=7]}]\n")
	cert := certificate(t)
	n.throttle = serve(t, clustered(n.ironic.URL, kubeconfig, namespace).with(settings{
		"WATCH_NAMESPACE": namespace, "MAX_CONCURRENT_PROVISIONING_HOSTS": "1",
		ours + "API_ACCESS": "kubernetes", ours + "TLS_CERT_DIR": filepath.Dir(cert),
		ours + "LEADER_ELECT": "true",
		ours + "STATE":        "configmap:ironic-throttle", ours + "FAILED_HOST_HOLDOFF": "48h",
	}))
	n.looker = n.client(api.WithRootCAs(cert), api.WithBearerTokenFile(tokenOf(t, namespace, "looker", "ironic-throttle-viewer-"+namespace)))
	return n
}

// act does what can be done now.
func (n *scene) act() {
	for _, h := range n.hosts {
		n.put(h.NodeUUID, "active")
	}
	n.last, n.lookError = n.looker.Status(n.Context())
	n.ironic.With(func(now time.Time, w *fakeironic.World) {
		for _, h := range n.hosts {
			if n.failed == "" && w.Befall(now, h.NodeUUID, fakeironic.FateFailNow) == nil {
				n.failed = h.NodeUUID
			}
		}
	})
}

// works says of each right what can be seen while the throttle has it, and not without.
var works = map[string]func(*scene) bool{
	"metal3.io/baremetalhosts list":                    (*scene).seesHosts,
	"metal3.io/baremetalhosts watch":                   (*scene).seesHosts,
	"events create":                                    func(n *scene) bool { return len(n.list("v1", "events")) > 0 },
	"authentication.k8s.io/tokenreviews create":        (*scene).looked,
	"authorization.k8s.io/subjectaccessreviews create": (*scene).looked,
	"coordination.k8s.io/leases get":                   (*scene).leads,
	"coordination.k8s.io/leases create":                (*scene).leads,
	"coordination.k8s.io/leases update":                func(n *scene) bool { return n.Running() },
	"pods patch": func(n *scene) bool {
		return slices.ContainsFunc(n.list("v1", "pods"), func(o unstructured.Unstructured) bool {
			return o.GetLabels()[leaderLabel] == "leader"
		})
	},
	"cluster.x-k8s.io/machinehealthchecks list": (*scene).knowsHealthChecks,
	"cluster.x-k8s.io/machines list":            (*scene).knowsHealthChecks,
	"configmaps get":                            (*scene).decides,
	"configmaps create":                         (*scene).decides,
	"apps/deployments get":                      (*scene).knowsWorkers,
	"configmaps get of BMO":                     (*scene).knowsWorkers,
	"configmaps update": func(n *scene) bool {
		return slices.ContainsFunc(n.list("v1", "configmaps"), func(o unstructured.Unstructured) bool {
			text, _, _ := unstructured.NestedString(o.Object, "binaryData", "holds.jsonl.gz")
			value, _ := base64.StdEncoding.DecodeString(text)
			kept, _ := store.Unpack(value)
			return slices.ContainsFunc(kept.Records, func(r holdoff.Record) bool { return r.UUID == n.failed })
		})
	},
}

func (n *scene) seesHosts() bool {
	return n.lookError == nil && !slices.ContainsFunc(n.last.Warnings, func(w string) bool { return strings.Contains(w, "BareMetalHosts") })
}

func (n *scene) knowsWorkers() bool {
	return n.lookError == nil && n.last.Cluster != nil && n.last.Cluster.Operator != nil && n.last.Cluster.Operator.Limit == 7
}

func (n *scene) knowsHealthChecks() bool {
	return n.lookError == nil && slices.ContainsFunc(n.last.Warnings, func(w string) bool { return strings.Contains(w, "MachineHealthCheck") })
}

func (n *scene) looked() bool {
	refused := new(api.Error)
	if errors.As(n.lookError, &refused) && refused.Code != http.StatusServiceUnavailable {
		n.Errorf("status: %v, want 200 or 503", n.lookError)
	}
	return n.lookError == nil
}

func (n *scene) leads() bool {
	code, _ := n.get(n.at.Health + "/readyz")
	return code == http.StatusOK
}

func (n *scene) decides() bool { return n.ironic.Truth().Started > 0 }

func (n *scene) list(version, resource string) []unstructured.Unstructured {
	n.Helper()
	found, err := cluster.List(n.Context(), version, resource, n.namespace)
	if err != nil {
		n.Fatal(err)
	}
	return found
}

// TestRightsAreExactlyEnough deploys the throttle with what the manifests allow it: all
// works. Then once without each single right, of all there are: the API server refuses just that, the log
// says so, and what the right is for does not work.
func TestRightsAreExactlyEnough(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"everything", "namespace-scoped"} {
		dir := filepath.Join(testCases, name)
		all := rightsIn(rights(t, dir, "nowhere"))
		if len(all) < 3 {
			t.Fatalf("%s: found %d rights: the search is broken", name, len(all))
		}
		for _, r := range all {
			if works[r.String()] == nil {
				t.Fatalf("%s: %s: %s: say in works what it is for", name, r.role, r)
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := namespace(t, "rights")
			n := setScene(t, ns, sceneRights(t, dir, ns))
			for _, r := range all {
				awaitFor(t, 3*time.Minute, r.String(), func() bool { n.act(); return works[r.String()](n) }, n.log.Tail)
			}
			if line, found := n.log.Line("cannot "); found {
				t.Error(line)
			}
		})
		if name != "everything" {
			continue // its other rights are the same, for one namespace
		}
		for i, gone := range all {
			t.Run(fmt.Sprintf("%s without %s", name, gone), func(t *testing.T) {
				t.Parallel()
				ns := namespace(t, "rights")
				objects := sceneRights(t, dir, ns)
				without(t, objects, rightsIn(objects)[i])
				n := setScene(t, ns, objects)
				said := fmt.Sprintf("cannot %s resource", gone.verb)
				awaitFor(t, 3*time.Minute, "sign that it misses "+gone.String(), func() bool {
					n.act()
					_, told := n.log.Line(said, gone.resource)
					return told && !works[gone.String()](n)
				}, n.log.Tail)
			})
		}
	}
}

// sceneRights are the rights of a kustomization in a namespace, and what else the scene
// needs where that is not what the kustomization is about.
func sceneRights(t *testing.T, dir, namespace string) []*unstructured.Unstructured {
	t.Helper()
	objects := rights(t, dir, namespace)
	has := map[string]bool{}
	for _, o := range objects {
		has[o.GetKind()+o.GetName()] = true
	}
	for _, o := range rights(t, filepath.Join(testCases, "everything"), namespace) {
		sameName := o.GetName() == "ironic-throttle-"+namespace // what watches the hosts
		if !has[o.GetKind()+o.GetName()] && !sameName {
			objects = append(objects, o)
		}
	}
	return objects
}
