package fleet_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/fleet"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// The files *.json in testdata are what is read of their *.yaml, in both versions of Cluster API. UPDATE_GOLDEN=1 renews them.
func TestAFleetIsReadAsItIs(t *testing.T) {
	for _, name := range []string{"fleet", "cases"} {
		for _, version := range []string{"v1beta2", "v1beta1"} {
			c := clusterOf(t, strings.ReplaceAll(file(t, name+".yaml"), "cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/"+version))
			c.served[0] = "cluster.x-k8s.io/" + version
			text, err := json.MarshalIndent(c.read(t), "", " ")
			if err != nil {
				t.Fatal(err)
			}
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile("testdata/"+name+".json", append(text, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(file(t, name+".json"), string(text)+"\n"); diff != "" {
				t.Errorf("%s of %s, -want +got:\n%s", name, version, diff)
			}
		}
	}
}

func key(name string) disruption.Key { return disruption.Key{Namespace: "metal3", Name: name} }

func host(t *testing.T, s disruption.State, name string) *disruption.Host {
	t.Helper()
	at := slices.IndexFunc(s.Hosts, func(h disruption.Host) bool { return h.Name == name })
	if at < 0 {
		t.Fatalf("no host %s among %v", name, s.Hosts)
	}
	return &s.Hosts[at]
}

// TestANodeIsOnTheHostThatItNames, by the forms of spec.providerID. Names of two clusters may be the same.
func TestANodeIsOnTheHostThatItNames(t *testing.T) {
	const provider = "metal3://metal3/host-1/m3-1"
	text := file(t, "fleet.yaml")
	for with, want := range map[string]string{
		provider: "node-1", "metal3://uid-1": "node-1", "baremetalhost:///metal3/host-1/uid-1": "node-1",
		"metal3://metal3/host-1/m3-of-another": "", "metal3://metal3/host-9/m3-1": "", "metal3://uid-9": "", "": "", "aws:///x/uid-1": "", "metal3://a/b": "",
	} {
		s := clusterOf(t, strings.Replace(text, provider, with, 1)).read(t)
		if got := host(t, s, "host-1").Node; got != want {
			t.Errorf("providerID %q: node %q, want %q", with, got, want)
		}
	}
	if got := host(t, clusterOf(t, strings.Replace(text, "nodeRef: {name: node-1}", "nodeRef: {name: another}", 1)).read(t), "host-1").Node; got != "" {
		t.Errorf("node %q, though the Machine has another", got)
	}
	s := clusterOf(t, strings.Replace(text, "kvm://a", "metal3://uid-2", 1)).read(t)
	const fault = "nodes node-2 and virtual have the same spec.providerID: only one node may have it"
	if h := host(t, s, "host-2"); h.Node != "node-2" || !slices.Contains(h.Faults, fault) {
		t.Errorf("%+v", h)
	}
}

// TestAHostHasTheMachineThatHasIt: consumer, Metal3Machine and Machine agree, or there is none.
func TestAHostHasTheMachineThatHasIt(t *testing.T) {
	text := file(t, "fleet.yaml")
	for name, change := range map[string][2]string{
		"no Metal3Machine":  {"kind: Metal3Machine, metadata: {name: m3-1", "kind: Metal3Machine, metadata: {name: m3-9"},
		"no Machine":        {"kind: Metal3Machine, name: m3-1}}", "kind: Metal3Machine, name: m3-9}}"},
		"another's":         {"kind: Metal3Machine, name: m3-1}}", "kind: AWSMachine, name: m3-1}}"},
		"of another host":   {"metal3.io/BareMetalHost: metal3/host-1", "metal3.io/BareMetalHost: metal3/host-9"},
		"another consumer":  {"kind: Metal3Machine, namespace: metal3, name: m3-1}}", "kind: HostClaim, namespace: metal3, name: m3-1}}"},
		"of another's kind": {"apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, namespace: metal3, name: m3-1}}", "apiVersion: example.org/v1, kind: Metal3Machine, namespace: metal3, name: m3-1}}"},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		if h := host(t, clusterOf(t, changed).read(t), "host-1"); changed == text || h.Machine != nil || h.Consumer == "" {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// TestMachines: what one says, and who owns it.
func TestMachines(t *testing.T) {
	text := file(t, "fleet.yaml")
	const metadata, set = "kind: Machine, metadata: {name: m-1, ", "{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: ms, controller: true}"
	for change, is := range map[[2]string]func(disruption.Machine) bool{
		{metadata, metadata + `labels: {cluster.x-k8s.io/control-plane: ""}, `}:                                                                         func(m disruption.Machine) bool { return m.ControlPlane },
		{metadata, metadata + `annotations: {cluster.x-k8s.io/paused: ""}, `}:                                                                           func(m disruption.Machine) bool { return m.Paused },
		{"annotations: {metal3.io/BareMetalHost: metal3/host-1,", `annotations: {cluster.x-k8s.io/paused: "", metal3.io/BareMetalHost: metal3/host-1,`}: func(m disruption.Machine) bool { return m.Paused },
		{"spec: {clusterName: c, replicas: 3, ", "spec: {paused: true, clusterName: c, replicas: 3, "}:                                                  func(m disruption.Machine) bool { return m.Paused },
		{metadata, metadata + `deletionTimestamp: "2026-11-24T00:00:00Z", `}:                                                                            func(m disruption.Machine) bool { return m.Deleting },
		{`Consolidatable, status: "True"`, "Consolidatable, status: Unknown"}:                                                                           func(m disruption.Machine) bool { return !*m.Consolidatable },
		{"conditions: [{type: Consolidatable", "v1beta2: {}, old: [{type: C"}:                                                                           func(m disruption.Machine) bool { return m.Consolidatable == nil },
		{set, strings.Replace(set, "cluster.x-k8s.io/v1beta2", "machine.openshift.io/v1beta1", 1)}:                                                      func(m disruption.Machine) bool { return m.Pool == (disruption.Key{}) },
		{"MachineSet, metadata: {name: ms,", "MachineSet, metadata: {name: gone,"}:                                                                      func(m disruption.Machine) bool { return m.Pool == (disruption.Key{}) },
		{"kind: MachineDeployment, name: md,", "kind: Farm, name: f,"}:                                                                                  func(m disruption.Machine) bool { return m.Pool == (disruption.Key{}) },
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		was, got := *host(t, clusterOf(t, text).read(t), "host-1").Machine, *host(t, clusterOf(t, changed).read(t), "host-1").Machine
		if is(was) || !is(got) {
			t.Errorf("%s: %+v", change[1], got)
		}
	}
}

// TestWhatIsNotServedIsNotThere: without Cluster API and Metal3 there are nodes.
func TestWhatIsNotServedIsNotThere(t *testing.T) {
	c := clusterOf(t, file(t, "fleet.yaml"))
	c.served = nil
	c.fault = func(kind string) error {
		if strings.HasPrefix(kind, "BareMetalHost") || strings.HasPrefix(kind, "Host") {
			return notFound(kind)
		}
		return nil
	}
	if s := c.read(t); len(s.Nodes) != 3 || len(s.Hosts)+len(s.Pools)+len(s.Pods)+len(s.Clusters) != 0 || !s.TakenAt.Equal(noon) {
		t.Errorf("%+v", s)
	}
	if slices.Contains(c.asked, "Pod") || slices.Contains(c.asked, "HostFirmwareSettings") {
		t.Errorf("%v: nothing needs pods or firmware", c.asked)
	}
}

// TestAnErrorEndsTheReading, and a missing right is named with the component that has it.
func TestAnErrorEndsTheReading(t *testing.T) {
	for _, kind := range []string{"BareMetalHost", "HostUpdatePolicy", "Machine", "Metal3MachineTemplate", "Node", "Pod", "PersistentVolume", "PodDisruptionBudget"} {
		c := clusterOf(t, file(t, "fleet.yaml"))
		c.fault = func(asked string) error {
			if asked == kind {
				return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", errors.New("no, said RBAC"))
			}
			return nil
		}
		_, err := c.reader().Read(t.Context())
		const want = "the throttle's account (component planner) needs another right: "
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "no, said RBAC") || !strings.Contains(err.Error(), kind) {
			t.Errorf("%s: %v", kind, err)
		}
		if last := c.asked[len(c.asked)-1]; last != kind {
			t.Errorf("%s was asked for after the error of %s", last, kind)
		}
		c = clusterOf(t, file(t, "fleet.yaml"))
		c.empty = kind
		if _, err := c.reader().Read(t.Context()); err == nil || !strings.Contains(err.Error(), "the answer is no list") {
			t.Errorf("an answer of {} for %s: %v", kind, err)
		}
	}
}

// TestPages: lists come in pages, and one whose pages have expired is read again.
func TestPages(t *testing.T) {
	want := clusterOf(t, file(t, "fleet.yaml")).read(t)
	c := clusterOf(t, file(t, "fleet.yaml"))
	c.perPage = 1
	old := map[string]bool{}
	c.fault = func(asked string) error {
		if strings.HasSuffix(asked, "2") && !old[asked] {
			old[asked] = true
			return apierrors.NewResourceExpired("too old")
		}
		return nil
	}
	if diff := cmp.Diff(want, c.read(t)); diff != "" || len(old) < 2 {
		t.Errorf("%v, -want +got:\n%s", old, diff)
	}
	c.fault = func(string) error { return apierrors.NewResourceExpired("too old") }
	if _, err := c.reader().Read(t.Context()); err == nil || !strings.Contains(err.Error(), "too old") {
		t.Errorf("always expired: %v", err)
	}
}

func TestNamespaces(t *testing.T) {
	c := clusterOf(t, file(t, "fleet.yaml"))
	s, err := fleet.New(fleet.Options{Client: c.client, Namespaces: []string{"elsewhere", "metal3"}, Now: time.Now}).Read(t.Context())
	if err != nil || len(s.Hosts) != 3 || slices.Contains(c.asked, "BareMetalHost") || !slices.Contains(c.asked, "BareMetalHost elsewhere") {
		t.Errorf("%v, %d hosts, asked for %v", err, len(s.Hosts), c.asked)
	}
}

// TestAPodThatWentRestartsTheClock: only who saw it before knows of a pod that is gone.
func TestAPodThatWentRestartsTheClock(t *testing.T) {
	c := clusterOf(t, file(t, "fleet.yaml"))
	now := noon
	r := fleet.New(fleet.Options{Client: c.client, Now: func() time.Time { return now }})
	last := func() time.Time {
		t.Helper()
		s, err := r.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
		return s.Nodes[slices.IndexFunc(s.Nodes, func(n disruption.Node) bool { return n.Name == "node-1" })].LastPodEvent
	}
	remove := func(namespace, name string) {
		t.Helper()
		if err := c.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	came := time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)
	if got := last(); !got.Equal(came) {
		t.Errorf("the web pod came at %v, want %v", got, came)
	}
	remove("kube-system", "agent-1")
	if got := last(); !got.Equal(came) {
		t.Errorf("%v: a daemon does not count", got)
	}
	remove("web", "web")
	if got := last(); !got.Equal(noon.Add(2 * time.Minute)) {
		t.Errorf("the web pod went at %v", got)
	}
	if got := last(); !got.Equal(noon.Add(2 * time.Minute)) {
		t.Errorf("%v is remembered", got)
	}
}
