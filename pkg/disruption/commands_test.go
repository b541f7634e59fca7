package disruption

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestACommandRunsOnlyAfterThoseBeforeIt: a host whose Machine could not be taken away is not powered off, and a node
// is not drained before its replacement is Ready.
func TestACommandRunsOnlyAfterThoseBeforeIt(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	for name, row := range map[string]struct {
		change          func(l *lab)
		fails, mayNever string
	}{
		"the scale of a release": {func(*lab) {}, "scale", "online"},
		"the wait of a release":  {func(*lab) {}, "wait", "online"},
		"the wait of a replacement": {func(l *lab) {
			l.pod(0, 4)
			l.spare(100)
		}, "wait", "drain"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			row.change(l)
			commands := l.plan().Actions[0].Commands
			if !strings.Contains(strings.Join(commands, "\n"), row.mayNever) {
				t.Fatalf("none of %q does it at all", commands)
			}
			dir := t.TempDir()
			fake := "#!" + sh + "\necho \"$@\"\n[ \"$1\" != " + row.fails + " ]\n"
			if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(fake), 0o700); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), sh, "-c", strings.Join(commands, "\n"))
			run.Env = []string{"PATH=" + dir}
			out, err := run.Output()
			if err == nil || strings.Contains(string(out), row.mayNever) {
				t.Errorf("%v, and these ran:\n%s", err, out)
			}
		})
	}
}

func TestCommands(t *testing.T) {
	l := newLab(t, 2)
	l.pod(1, 8)
	wantLines(t, l.plan().Actions[0].Commands,
		"kubectl annotate -n metal3 baremetalhosts.metal3.io h-0 ironic-throttle.metal3.io/planned=true --overwrite",
		"kubectl annotate -n metal3 machines.cluster.x-k8s.io m-0 cluster.x-k8s.io/delete-machine=true --overwrite",
		"kubectl scale -n metal3 machinedeployments.cluster.x-k8s.io/p --current-replicas=2 --replicas=1",
		"kubectl wait -n metal3 baremetalhosts.metal3.io/h-0 '--for=jsonpath={.status.provisioning.state}=available' --timeout=2h",
		`kubectl patch -n metal3 baremetalhosts.metal3.io h-0 --type=merge -p '{"spec":{"online":false}}'`,
		"kubectl annotate -n metal3 baremetalhosts.metal3.io h-0 ironic-throttle.metal3.io/planned-",
	)
	l = used(t, 6)
	l.spare(100)
	wantLines(t, l.plan().Actions[0].Commands[:7],
		"kubectl taint nodes n-0 ironic-throttle.metal3.io/disrupting=true:NoSchedule --overwrite",
		"kubectl annotate -n metal3 baremetalhosts.metal3.io s-1 ironic-throttle.metal3.io/planned=true --overwrite",
		"kubectl scale -n metal3 machinedeployments.cluster.x-k8s.io/p --current-replicas=1 --replicas=2",
		"kubectl wait -n metal3 baremetalhosts.metal3.io/s-1 '--for=jsonpath={.status.provisioning.state}=provisioned' --timeout=2h",
		"kubectl wait -n metal3 machinedeployments.cluster.x-k8s.io/p '--for=jsonpath={.status.readyReplicas}=2' --timeout=2h",
		"kubectl annotate -n metal3 baremetalhosts.metal3.io s-1 ironic-throttle.metal3.io/planned-",
		"kubectl drain n-0 --ignore-daemonsets --timeout=2h",
	)
	far := Key{Namespace: "metal3", Name: "far"}
	l.s.Clusters, l.s.Hosts[0].Cluster, l.s.Nodes[0].Cluster, l.s.Pods[0].Cluster = []Cluster{{Key: far}}, far, far, far
	lines := l.plan().Actions[0].Commands
	wantLines(t, []string{lines[0], lines[1], lines[7]},
		"(umask 077 && kubectl get -n metal3 secret far-kubeconfig -o 'go-template={{.data.value | base64decode}}' > far.kubeconfig)",
		"kubectl taint nodes n-0 ironic-throttle.metal3.io/disrupting=true:NoSchedule --overwrite --kubeconfig=far.kubeconfig",
		"kubectl drain n-0 --ignore-daemonsets --timeout=2h --kubeconfig=far.kubeconfig")
	l = used(t, 2, 2)
	l.c.ConsolidateAfter = Never
	field("raid", "1", "5")(&l.s.Hosts[0], nil)
	wantLines(t, l.plan().Actions[0].Commands[1:2], "kubectl delete -n metal3 machines.cluster.x-k8s.io m-0 --timeout=2h")
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("line %d is missing: %s", i, want[i])
		case i >= len(want):
			t.Errorf("line %d is too much: %s", i, got[i])
		case strings.TrimSuffix(got[i], " &&") != want[i]:
			t.Errorf("line %d is\n%s\nwant\n%s", i, got[i], want[i])
		}
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"": "''", "a-b.c/d": "a-b.c/d", "azAZ09": "azAZ09", "[": "'['", "{": "'{'", "a b": "'a b'", "it's": `'it'\''s'`, "$(reboot)": "'$(reboot)'", "a;b": "'a;b'", "`x`": "'`x`'", "ä": "'ä'",
	} {
		c := &script{}
		c.kubectl(text)
		wantLines(t, c.lines, "kubectl "+want)
	}
}
