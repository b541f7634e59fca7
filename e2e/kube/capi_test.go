//go:build e2e

package kube

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// addMachines makes a Machine of the cluster c for each of these hosts, and a MachineHealthCheck for all of them that waits
// so many seconds for their nodes.
func addMachines(t *testing.T, namespace string, timeout int, hosts []realkube.Host) {
	t.Helper()
	text := fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineHealthCheck, metadata: {name: workers, namespace: %s},
		spec: {clusterName: c, selector: {matchLabels: {pool: workers}}, checks: {nodeStartupTimeoutSeconds: %d}}}
`, namespace, timeout)
	for _, h := range hosts {
		text += fmt.Sprintf(`---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: machine-of-%[2]s, namespace: %[1]s, labels: {cluster.x-k8s.io/cluster-name: c, pool: workers}},
		spec: {clusterName: c, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: %[3]s}}}
`, namespace, h.Name, h.Machine)
	}
	objects{T: t}.apply(text)
}

// TestHealthChecksOfWaitingMachinesAreWarnedOf: a MachineHealthCheck that removes Machines whose hosts wait for a slot is
// told so, once, until it is paused.
func TestHealthChecksOfWaitingMachinesAreWarnedOf(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "capi")
	ironic := serveIronic(t, time.Hour)
	var hosts []realkube.Host
	for _, name := range []string{"host-0", "host-1"} {
		hosts = append(hosts, realkube.Host{Namespace: ns, Name: name, NodeUUID: ironic.node(t, ns+"~"+name), Machine: "m3m-" + name})
	}
	if err := cluster.AddHosts(t.Context(), hosts); err != nil {
		t.Fatal(err)
	}
	addMachines(t, ns, 5, hosts[1:])
	kubeconfig := deploy(t, ns, rights(t, filepath.Join(testCases, "everything"), ns))
	p := serve(t, clustered(ironic.URL, kubeconfig, ns).with(settings{"WATCH_NAMESPACE": ns, "MAX_CONCURRENT_PROVISIONING_HOSTS": "1"}))
	p.isReady()
	said := "MachineHealthCheck " + ns + "/workers removes Machines that have no node after 5s, but hosts of its Machines may wait 15m0s for a slot"
	warned := func() bool {
		for _, h := range hosts {
			p.put(h.NodeUUID, "active")
		}
		status, err := p.client().Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(strings.Join(status.Warnings, "\n"), said)
	}
	awaitFor(t, 3*time.Minute, "a warning in the status", warned, p.log.Tail)
	await(t, "the warning in the log", func() bool { return p.log.Count("WARN", said) == 1 }, p.log.Tail)
	await(t, "an Event on the MachineHealthCheck", func() bool { return told(t, ns, "MachineHealthCheck", said) == 1 }, p.log.Tail)

	objects{T: t}.apply(fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineHealthCheck,
		metadata: {name: workers, namespace: %s, annotations: {cluster.x-k8s.io/paused: ""}}}`, ns))
	awaitFor(t, 3*time.Minute, "the end of the warning", func() bool { return !warned() }, p.log.Tail)
	if n := told(t, ns, "MachineHealthCheck", said); n != 1 {
		t.Errorf("%d Events, want 1", n)
	}
}
