package fleet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/json"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func machineFrom(t *testing.T, meta, status string) machine {
	t.Helper()
	var w machineWire
	text := `{"metadata":{"namespace":"ns","name":"m"` + meta + `},"status":{` + status + `}}`
	if err := json.UnmarshalCaseSensitivePreserveInts([]byte(text), &w); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return machineOf(&w)
}

func TestMachines(t *testing.T) {
	owned := func(version, kind string) string {
		return `,"ownerReferences":[{"apiVersion":"` + version + `","kind":"` + kind + `","name":"x","controller":true}]`
	}
	for name, one := range map[string]struct {
		meta, status string
		is           func(machine) bool
	}{
		"control plane": {`,"labels":{"cluster.x-k8s.io/control-plane":""}`, "", func(m machine) bool { return m.ControlPlane }},
		"execute":       {`,"annotations":{"ironic-throttle.metal3.io/execute":"true"}`, "", func(m machine) bool { return m.Execute }},
		"marked":        {`,"annotations":{"cluster.x-k8s.io/delete-machine":"yes"}`, "", func(m machine) bool { return m.Marked }},
		"paused":        {`,"annotations":{"cluster.x-k8s.io/paused":""}`, "", func(m machine) bool { return m.Paused }},
		"left alone":    {`,"annotations":{"ironic-throttle.metal3.io/do-not-disrupt":"true"}`, "", func(m machine) bool { return m.doNotDisrupt }},
		"of a set":      {owned("cluster.x-k8s.io/v1beta1", "MachineSet"), "", func(m machine) bool { return m.set.String() == "ns/x" && m.OtherOwner == "" }},
		"of a control plane": {owned("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane"), "", func(m machine) bool {
			return m.set == (disruption.Key{}) && m.OtherOwner == "KubeadmControlPlane x"
		}},
		"of another API": {owned("machine.openshift.io/v1beta1", "MachineSet"), "", func(m machine) bool { return m.OtherOwner == "MachineSet x" }},
		"not to be consolidated": {"", `"conditions":[{"type":"Consolidatable","status":"Unknown"}]`, func(m machine) bool {
			return m.Consolidatable != nil && !*m.Consolidatable
		}},
		"to be consolidated": {"", `"v1beta2":{"conditions":[{"type":"Consolidatable","status":"True"}]}`, func(m machine) bool {
			return m.Consolidatable != nil && *m.Consolidatable
		}},
	} {
		if m := machineFrom(t, one.meta, one.status); !one.is(m) {
			t.Errorf("%s: %+v", name, m)
		}
		if m := machineFrom(t, "", ""); one.is(m) {
			t.Errorf("%s: so is a machine of which nobody says it", name)
		}
	}
}

// TestAHostHasTheMachineThatHasIt: consumer, Metal3Machine and Machine agree, or there is none.
func TestAHostHasTheMachineThatHasIt(t *testing.T) {
	for name, change := range map[string]func(a *apiServer){
		"no Metal3Machine": func(a *apiServer) { delete(a.lists, "/apis/"+providerV+"/metal3machines") },
		"no Machine":       func(a *apiServer) { delete(a.lists, "/apis/"+coreV+"/machines") },
		"of another host": func(a *apiServer) {
			delete(a.lists, hostsPath)
			a.add(hostsPath, strings.Replace(named(plainHost, "h1"), `"name":"h1"`, `"name":"h2"`, 1))
		},
		"another consumer": func(a *apiServer) {
			delete(a.lists, hostsPath)
			a.add(hostsPath, strings.Replace(named(plainHost, "h1"), `"kind":"Metal3Machine"`, `"kind":"HostClaim"`, 1))
		},
	} {
		a := newAPI(t).all(coreV)
		addPool(a, coreV, `"apiGroup":"x"`)
		addMachine(a, coreV, "h1", `"apiGroup":"x"`)
		if s := a.read(Options{}); s.Hosts[0].Machine == nil {
			t.Fatalf("%+v", s.Hosts)
		}
		change(a)
		if s := a.read(Options{}); s.Hosts[0].Machine != nil || s.Hosts[0].Consumer == "" {
			t.Errorf("%s: %+v", name, s.Hosts[0])
		}
	}
}

// TestPoolsWithoutADeployment: a MachineSet of its own is a pool; that of something else is none.
func TestPoolsWithoutADeployment(t *testing.T) {
	for owners, want := range map[string]struct{ kind, other string }{
		``: {"MachineSet", ""},
		`,"ownerReferences":[{"apiVersion":"example.org/v1","kind":"Farm","name":"f","controller":true}]`: {"MachineSet", "Farm f"},
	} {
		a := newAPI(t).all(coreV)
		addMachine(a, coreV, "h1", `"apiGroup":"x"`)
		a.add("/apis/"+coreV+"/machinesets", `{"metadata":{"name":"ms-1","namespace":"metal3"`+owners+`},"spec":{"replicas":1,"template":{"spec":{"infrastructureRef":{"kind":"Metal3MachineTemplate","name":"gone"}}}}}`)
		s := a.read(Options{})
		m := s.Hosts[0].Machine
		if string(m.PoolKind) != want.kind || m.Pool.String() != "metal3/ms-1" || m.OtherOwner != want.other {
			t.Errorf("%+v, want %+v", m, want)
		}
		if pools := len(s.Pools); pools != map[bool]int{true: 1, false: 0}[want.other == ""] {
			t.Errorf("%d pools, owned by %q", pools, want.other)
		}
		// The template is not there: neither what hosts it chooses is known, nor its hash.
		if len(s.Pools) == 1 && (s.Pools[0].HostSelector != nil || s.Pools[0].TemplateHash != "") {
			t.Errorf("%+v", s.Pools[0])
		}
	}
}

func TestHostSelectors(t *testing.T) {
	for operator, want := range map[string]string{"In": "In", "notin": "NotIn", "exists": "Exists", "!": "DoesNotExist", "=": "In", "==": "In", "!=": "NotIn", "gt": "", "odd": ""} {
		var w templateWire
		text := `{"spec":{"template":{"spec":{"hostSelector":{"matchExpressions":[{"key":"k","operator":"` + operator + `","values":["v"]}]}}}}}`
		if err := json.UnmarshalCaseSensitivePreserveInts([]byte(text), &w); err != nil {
			t.Fatal(err)
		}
		got := ""
		if s := templateOf(&w).selector; s != nil {
			got = string(s.MatchExpressions[0].Operator)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", operator, got, want)
		}
	}
}

// TestANewNodeHasWhatAllNodesOfItsPoolHave.
func TestANewNodeHasWhatAllNodesOfItsPoolHave(t *testing.T) {
	a := newAPI(t).all(coreV)
	addPool(a, coreV, `"apiGroup":"x"`)
	for _, name := range []string{"h1", "h2", "h3"} {
		addMachine(a, coreV, name, `"apiGroup":"x"`)
	}
	a.lists[nodesPath] = nil
	for name, change := range map[string][2]string{
		"h1": {`"zone":"a"`, `"zone":"b"`}, "h2": {},
		"h3": {`"spec":{`, `"spec":{"taints":[{"key":"dedicated","effect":"NoSchedule"},{"key":"node.kubernetes.io/unreachable","effect":"NoExecute"}],`},
	} {
		a.add(nodesPath, strings.Replace(named(readyNode, "node-"+name, "PROVIDER", "metal3://metal3/"+name+"/m3-"+name), change[0], change[1], 1))
	}
	s := a.read(Options{})
	pool := s.Pools[0]
	if diff := cmp.Diff(map[string]string{"kubernetes.io/os": "linux", "node-role.kubernetes.io/worker": ""}, pool.NodeLabels); diff != "" {
		t.Error(diff)
	}
	keys := []string{}
	for _, taint := range pool.NodeTaints {
		keys = append(keys, taint.Key)
	}
	if diff := cmp.Diff([]string{"gpu", "dedicated"}, keys); diff != "" {
		t.Error(diff)
	}
	a.lists[nodesPath] = nil
	if pool := a.read(Options{}).Pools[0]; pool.NodeLabels != nil || pool.NodeTaints != nil {
		t.Errorf("without a node: %+v", pool)
	}
}

// TestCapacityIsTheLeastOfTheClass of a host that has no node.
func TestCapacityIsTheLeastOfTheClass(t *testing.T) {
	a := newAPI(t).all(coreV)
	for i, name := range []string{"h1", "h2", "free", "other"} {
		class := "big"
		if name == "other" {
			class = "small"
		}
		a.add(hostsPath, strings.Replace(named(plainHost, name), `"labels"`, `"annotations":{"ironic-throttle.metal3.io/class":"`+class+`"},"labels"`, 1))
		if i < 2 {
			text := named(readyNode, name, "PROVIDER", "metal3://uid-"+name)
			a.add(nodesPath, strings.Replace(text, `"cpu":"8","memory":"32Gi"`, []string{`"cpu":"8","memory":"32Gi","gpu":"1"`, `"cpu":"16","memory":"31Gi"`}[i], 1))
		}
	}
	s := a.read(Options{})
	if diff := cmp.Diff(disruption.Resources{"cpu": "8", "memory": "31Gi"}, s.Hosts[2].Capacity); diff != "" {
		t.Error(diff)
	}
	if s.Hosts[0].Capacity["gpu"] != "1" || s.Hosts[3].Capacity != nil {
		t.Errorf("%+v, %+v", s.Hosts[0], s.Hosts[3])
	}
}
