package disruption_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// TestACommandRunsOnlyAfterThoseBeforeIt: a host whose Machine could not be taken away is not powered off, and a node
// is not drained before its replacement is Ready. Names are what they are, whatever the shell makes of them.
func TestACommandRunsOnlyAfterThoseBeforeIt(t *testing.T) {
	const odd = "it's;$(reboot)`x`"
	release := func() *lab { l := newLab(1); l.s.Hosts[0].Name = odd; return l }
	replace := func() *lab { l := used("4"); l.spare(100); return l }
	for name, row := range map[string]struct {
		from         func() *lab
		fails, never string // the command that fails, and what then never happens
		runs         string
	}{
		"none fails":                {release, "", "", "--type=merge"},
		"the scale of a release":    {release, "scale", "online", "baremetalhosts.metal3.io " + odd + " "},
		"the wait of a release":     {release, "wait", "online", "scale"},
		"the wait of a replacement": {replace, "wait", "drain", "taint"},
	} {
		t.Run(name, func(t *testing.T) {
			commands := strings.Join(row.from().plan(t).Actions[0].Commands, "\n")
			dir := t.TempDir()
			fake := "#!/bin/sh\necho \"$@\"\n[ \"$1\" != \"" + row.fails + "\" ]\n"
			if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(fake), 0o700); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), "/bin/sh", "-c", commands)
			run.Env = []string{"PATH=" + dir}
			out, err := run.Output()
			if (err == nil) != (row.fails == "") || !strings.Contains(string(out), row.runs) || !strings.Contains(commands, row.never) ||
				row.never != "" && strings.Contains(string(out), row.never) {
				t.Errorf("%v, and these ran:\n%s\nof\n%s", err, out, commands)
			}
		})
	}
}

func TestCommands(t *testing.T) {
	empty := func() *lab { l := newLab(2); l.pod("b", 1, "8"); return l }
	several := func() *lab { return newLab(2) }
	replace := func() *lab { l := used("6"); l.spare(100); return l }
	away := func() *lab {
		l := replace()
		l.s.Clusters, l.s.Hosts[0].Cluster, l.s.Nodes[0].Cluster, l.s.Pods[0].Cluster = []disruption.Cluster{{Key: other}}, other, other, other
		return l
	}
	drifted := func() *lab {
		l := used("2", "2")
		l.c.ConsolidateAfter = disruption.Never
		drift(&l.s.Hosts[0])
		return l
	}
	for name, row := range map[string]struct {
		from  func() *lab
		lines []string // in their order, among others
	}{
		"release": {empty, []string{
			"kubectl annotate -n metal3 baremetalhosts.metal3.io h-0 ironic-throttle.metal3.io/planned=true --overwrite",
			"kubectl annotate -n metal3 machines.cluster.x-k8s.io m-0 cluster.x-k8s.io/delete-machine=true --overwrite",
			"kubectl scale -n metal3 machinedeployments.cluster.x-k8s.io/p-0 --current-replicas=2 --replicas=1",
			"kubectl wait -n metal3 baremetalhosts.metal3.io/h-0 '--for=jsonpath={.status.provisioning.state}=available' --timeout=2h",
			`kubectl patch -n metal3 baremetalhosts.metal3.io h-0 --type=merge -p '{"spec":{"online":false}}'`,
			"kubectl annotate -n metal3 baremetalhosts.metal3.io h-0 ironic-throttle.metal3.io/planned-",
		}},
		"releases of one pool": {several, []string{
			"kubectl scale -n metal3 machinedeployments.cluster.x-k8s.io/p-0 --current-replicas=2 --replicas=1",
			"kubectl annotate -n metal3 machines.cluster.x-k8s.io m-1 cluster.x-k8s.io/delete-machine=true --overwrite",
			"kubectl scale -n metal3 machinedeployments.cluster.x-k8s.io/p-0 --current-replicas=1 --replicas=0",
		}},
		"replace": {replace, []string{
			"kubectl taint nodes n-0 ironic-throttle.metal3.io/disrupting=true:NoSchedule --overwrite",
			"kubectl annotate -n metal3 baremetalhosts.metal3.io s-1 ironic-throttle.metal3.io/planned=true --overwrite",
			"kubectl scale -n metal3 machinedeployments.cluster.x-k8s.io/p-0 --current-replicas=1 --replicas=2",
			"kubectl wait -n metal3 baremetalhosts.metal3.io/s-1 '--for=jsonpath={.status.provisioning.state}=provisioned' --timeout=2h",
			"kubectl wait -n metal3 machinedeployments.cluster.x-k8s.io/p-0 '--for=jsonpath={.status.readyReplicas}=2' --timeout=2h",
			"kubectl annotate -n metal3 baremetalhosts.metal3.io s-1 ironic-throttle.metal3.io/planned-",
			"kubectl drain n-0 --ignore-daemonsets --timeout=2h",
			"kubectl scale -n metal3 machinedeployments.cluster.x-k8s.io/p-0 --current-replicas=2 --replicas=1",
		}},
		"in a workload cluster": {away, []string{
			"(umask 077 && kubectl get -n metal3 secret other-kubeconfig -o 'go-template={{.data.value | base64decode}}' > other.kubeconfig)",
			"kubectl taint nodes n-0 ironic-throttle.metal3.io/disrupting=true:NoSchedule --overwrite --kubeconfig=other.kubeconfig",
			"kubectl drain n-0 --ignore-daemonsets --timeout=2h --kubeconfig=other.kubeconfig",
		}},
		"reprovision": {drifted, []string{"kubectl delete -n metal3 machines.cluster.x-k8s.io m-0 --timeout=2h"}},
	} {
		var got []string
		for _, a := range row.from().plan(t).Actions {
			got = append(got, a.Commands...)
		}
		left := row.lines
		for _, line := range got {
			if len(left) > 0 && strings.TrimSuffix(line, " &&") == left[0] {
				left = left[1:]
			}
		}
		if len(left) > 0 {
			t.Errorf("%s: there is no\n%s\nat its turn in\n%s", name, left[0], strings.Join(got, "\n"))
		}
	}
}
