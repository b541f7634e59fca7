package fleet

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

const (
	nodesPath = "/api/v1/nodes"
	podsPath  = "/api/v1/pods"
	hostsPath = "/apis/" + metal3V + "/baremetalhosts"
	readyNode = `{"metadata":{"name":"NAME","creationTimestamp":"2026-11-01T00:00:00Z","labels":{"kubernetes.io/hostname":"NAME","kubernetes.io/os":"linux","zone":"a"}},
		"spec":{"providerID":"PROVIDER"},"status":{"allocatable":{"cpu":"8","memory":"32Gi"},
		"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-11-02T00:00:00Z"}]}}`
	plainHost = `{"metadata":{"name":"NAME","namespace":"metal3","uid":"uid-NAME","creationTimestamp":"2026-10-01T00:00:00Z","labels":{"rack":"r1"}},
		"spec":{"online":true,"consumerRef":{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"Metal3Machine","namespace":"metal3","name":"m3-NAME"}},
		"status":{"operationalStatus":"OK","poweredOn":true,"provisioning":{"ID":"AAAAAAAA-0000-4000-8000-000000000001","state":"provisioned","image":{"url":"http://i/1","checksum":"c1"}}}}`
)

// named fills in the names of an object. More pairs may follow.
func named(text, name string, more ...string) string {
	return strings.NewReplacer(append([]string{"NAME", name}, more...)...).Replace(text)
}

// addMachine adds a host with all of its machine: one of the MachineSet ms-1 of md-1.
func addMachine(a *apiServer, contract, name, reference string) {
	core, infra := "/apis/"+contract+"/", "/apis/"+providerV+"/"
	a.add(hostsPath, named(plainHost, name))
	a.add(nodesPath, named(readyNode, "node-"+name, "PROVIDER", "metal3://metal3/"+name+"/m3-"+name))
	a.add(infra+"metal3machines", named(`{"metadata":{"name":"m3-NAME","namespace":"metal3","annotations":{"metal3.io/BareMetalHost":"metal3/NAME",
		"cluster.x-k8s.io/cloned-from-name":"old","cluster.x-k8s.io/cloned-from-groupkind":"Metal3MachineTemplate.infrastructure.cluster.x-k8s.io"}},"spec":{}}`, name))
	a.add(core+"machines", named(`{"metadata":{"name":"machine-NAME","namespace":"metal3","ownerReferences":[{"apiVersion":"CONTRACT","kind":"MachineSet","name":"ms-1","controller":true}]},
		"spec":{"clusterName":"c","infrastructureRef":{REFERENCE,"kind":"Metal3Machine","name":"m3-NAME"}},
		"status":{"nodeRef":{"name":"node-NAME"},"conditions":[{"type":"Consolidatable","status":"True"}]}}`, name, "CONTRACT", contract, "REFERENCE", reference))
}

func addPool(a *apiServer, contract, reference string) {
	core, infra := "/apis/"+contract+"/", "/apis/"+providerV+"/"
	a.add(core+"machinesets", `{"metadata":{"name":"ms-1","namespace":"metal3","ownerReferences":[{"apiVersion":"`+contract+`","kind":"MachineDeployment","name":"md-1","controller":true}]},
		"spec":{"replicas":2,"template":{"spec":{}}}}`)
	a.add(core+"machinedeployments", `{"metadata":{"name":"md-1","namespace":"metal3","annotations":{"ironic-throttle.metal3.io/budgets":"10%,ready:2","ironic-throttle.metal3.io/execute":"true"}},
		"spec":{"replicas":2,"template":{"metadata":{"labels":{"node-role.kubernetes.io/worker":"","team":"x"}},
		"spec":{"infrastructureRef":{`+reference+`,"kind":"Metal3MachineTemplate","name":"new"},"taints":[{"key":"gpu","value":"yes","effect":"NoSchedule","propagation":"Always"}]}}}}`)
	a.add(infra+"metal3machinetemplates", `{"metadata":{"name":"new","namespace":"metal3","creationTimestamp":"2026-11-20T00:00:00Z"},"spec":{"template":{"spec":{
		"image":{"url":"http://i/2","checksum":"c2"},"hostSelector":{"matchLabels":{"rack":"r1"},"matchExpressions":[{"key":"gpu","operator":"notin","values":["old"]}]}}}}}`)
}

// TestMachinesLeadToNodesAndPools: the chain from a Node to its pool, in both versions of
// Cluster API's contract.
func TestMachinesLeadToNodesAndPools(t *testing.T) {
	for contract, reference := range map[string]string{
		coreV: `"apiGroup":"infrastructure.cluster.x-k8s.io"`, coreOldV: `"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","namespace":"metal3"`,
	} {
		t.Run(contract, func(t *testing.T) {
			a := newAPI(t).all(contract)
			addPool(a, contract, reference)
			addMachine(a, contract, "h1", reference)
			addMachine(a, contract, "h2", reference)
			s := a.read(Options{})
			ms := disruption.Key{Namespace: "metal3", Name: "md-1"}
			want := []disruption.Host{host1(ms, "h1"), host1(ms, "h2")}
			if diff := cmp.Diff(want, s.Hosts); diff != "" {
				t.Errorf("hosts, -want +got:\n%s", diff)
			}
			pools := []disruption.Pool{{
				Key: ms, Kind: disruption.PoolMachineDeployment, Replicas: 2, Scales: true, TemplateHash: "name1-new", Execute: true,
				Policy: disruption.PoolPolicy{Budgets: budget.List{{Nodes: "10%"}, {MinReady: "2"}}},
				HostSelector: &metav1.LabelSelector{
					MatchLabels:      map[string]string{"rack": "r1"},
					MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "gpu", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"old"}}},
				},
				NodeLabels: map[string]string{"kubernetes.io/os": "linux", "zone": "a", "node-role.kubernetes.io/worker": ""},
				NodeTaints: []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}},
			}}
			if diff := cmp.Diff(pools, s.Pools); diff != "" {
				t.Errorf("pools, -want +got:\n%s", diff)
			}
		})
	}
}

// host1 is a host of addMachine as it should be read.
func host1(pool disruption.Key, name string) disruption.Host {
	return disruption.Host{
		Key: disruption.Key{Namespace: "metal3", Name: name}, NodeUUID: "aaaaaaaa-0000-4000-8000-000000000001", State: "provisioned", Online: true, PoweredOn: true,
		Consumer: "Metal3Machine metal3/m3-" + name, Labels: map[string]string{"rack": "r1"}, Capacity: disruption.Resources{"cpu": "8", "memory": "32Gi"},
		Machine: &disruption.Machine{
			Key: disruption.Key{Namespace: "metal3", Name: "machine-" + name}, Pool: pool, PoolKind: disruption.PoolMachineDeployment,
			TemplateHash: "name1-old", Consolidatable: new(true),
		},
		Node: "node-" + name, Desired: map[string]string{"image.url": "http://i/2", "image.checksum": "c2"},
		Applied:      map[string]string{"image.url": "http://i/1", "image.checksum": "c1"},
		DriftedSince: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Created: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC),
	}
}

// TestANodeOfAnotherClusterIsNotTheHosts: its names may be the same.
func TestANodeOfAnotherClusterIsNotTheHosts(t *testing.T) {
	for provider, want := range map[string]string{
		"metal3://metal3/h1/m3-h1": "n", "metal3://uid-h1": "n", "baremetalhost:///metal3/h1/uid-h1": "n",
		"metal3://metal3/h1/m3-of-another": "", "metal3://metal3/h9/m3-h1": "", "metal3://uid-h9": "", "": "", "aws:///x/h1": "", "metal3://a/b": "",
	} {
		a := newAPI(t).all(coreV)
		a.add(hostsPath, named(plainHost, "h1"))
		a.add(nodesPath, named(readyNode, "n", "PROVIDER", provider))
		if got := a.read(Options{}).Hosts[0].Node; got != want {
			t.Errorf("providerID %q: node %q, want %q", provider, got, want)
		}
	}
	a := newAPI(t).all(coreV)
	addMachine(a, coreV, "h1", `"apiGroup":"x"`)
	a.lists[nodesPath] = nil
	a.add(nodesPath, named(readyNode, "not-that-of-the-machine", "PROVIDER", "metal3://metal3/h1/m3-h1"))
	if got := a.read(Options{}).Hosts[0].Node; got != "" {
		t.Errorf("node %q, though the Machine has another", got)
	}
}

// TestTwoNodesOfOneHostAreAFault: the host is no candidate then.
func TestTwoNodesOfOneHostAreAFault(t *testing.T) {
	a := newAPI(t).all(coreV)
	a.add(hostsPath, named(plainHost, "h1"))
	a.add(nodesPath, named(readyNode, "n1", "PROVIDER", "metal3://uid-h1"), named(readyNode, "n2", "PROVIDER", "metal3://uid-h1"))
	h := a.read(Options{}).Hosts[0]
	if want := "nodes n1 and n2 have the same spec.providerID: it must be of one node"; h.Node != "n1" || len(h.Faults) != 1 || h.Faults[0] != want {
		t.Errorf("%+v", h)
	}
}

// TestWhatIsNotInstalledIsNotThere: without Cluster API and Metal3 there are nodes and pods.
func TestWhatIsNotInstalledIsNotThere(t *testing.T) {
	a := newAPI(t)
	a.add(nodesPath, named(readyNode, "n"))
	s := a.read(Options{})
	if len(s.Nodes) != 1 || len(s.Hosts) != 0 || len(s.Pools) != 0 || !s.TakenAt.Equal(noon) {
		t.Errorf("%+v", s)
	}
	for _, path := range []string{"/api/v1/persistentvolumes", "/api/v1/persistentvolumeclaims", "/apis/storage.k8s.io/v1/csinodes", hostsPath} {
		if slices.Contains(a.asked, path) {
			t.Errorf("%s was asked for", path)
		}
	}
}

func TestAMissingRightIsNamed(t *testing.T) {
	for path, resource := range map[string]string{
		nodesPath: "nodes", podsPath: "pods", hostsPath: "baremetalhosts.metal3.io", "/apis/" + coreV + "/machines": "machines.cluster.x-k8s.io",
		"/apis/" + providerV + "/metal3machinetemplates": "metal3machinetemplates.infrastructure.cluster.x-k8s.io", "/apis/policy/v1/poddisruptionbudgets": "poddisruptionbudgets.policy",
	} {
		a := newAPI(t).all(coreV)
		a.fault = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == path {
				status(w, http.StatusForbidden, "Forbidden", "no, said RBAC")
			}
			return r.URL.Path == path
		}
		_, err := a.reader(Options{}).Read(context.Background())
		if err == nil || !strings.Contains(err.Error(), "right to list "+resource) || !strings.Contains(err.Error(), "component planner") || !strings.Contains(err.Error(), "no, said RBAC") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestPages: lists come in pages, and one whose pages are too old is read anew.
func TestPages(t *testing.T) {
	a := newAPI(t).all(coreV)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		a.add(nodesPath, named(readyNode, name))
		a.add(hostsPath, named(plainHost, name))
	}
	a.perPage = 2
	old := map[string]int{}
	a.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("continue") != "4" || old[r.URL.Path] > 0 {
			return false
		}
		old[r.URL.Path]++
		status(w, http.StatusGone, "Expired", "too old")
		return true
	}
	s := a.read(Options{})
	if len(s.Nodes) != 5 || len(s.Hosts) != 5 || len(old) != 2 {
		t.Errorf("%d nodes, %d hosts, too old: %v", len(s.Nodes), len(s.Hosts), old)
	}
}

// TestWhatIsNoListIsAnError: it must not pass for a cluster without hosts.
func TestWhatIsNoListIsAnError(t *testing.T) {
	for _, text := range []string{"", "[]", "{}", `{"items":{}}`, `{"items":[{"metadata":{"name":"h1"}}`, `{"items":[]`, `{"items":[1]}`, "<html>"} {
		a := newAPI(t).all(coreV)
		a.fault = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == hostsPath {
				_, _ = w.Write([]byte(text))
			}
			return r.URL.Path == hostsPath
		}
		if _, err := a.reader(Options{}).Read(context.Background()); err == nil || !strings.HasPrefix(err.Error(), "baremetalhosts.metal3.io cannot be read: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestNamespaces(t *testing.T) {
	a := newAPI(t).all(coreV)
	for _, ns := range []string{"a", "b"} {
		text := strings.ReplaceAll(named(plainHost, "h-"+ns), `"namespace":"metal3","uid"`, `"namespace":"`+ns+`","uid"`)
		a.add("/apis/"+metal3V+"/namespaces/"+ns+"/baremetalhosts", text)
	}
	a.add(hostsPath, named(plainHost, "elsewhere"))
	s := a.read(Options{Namespaces: []string{"a", "b"}})
	if len(s.Hosts) != 2 || len(s.Pools) != 0 {
		t.Errorf("%+v", s.Hosts)
	}
}
