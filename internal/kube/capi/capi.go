// Package capi checks the MachineHealthChecks of Cluster API. They remove a Machine that has no node after a while.
// That does not help a host that waits for a slot: the host of the next Machine waits behind all others.
//
// It needs the rights to list MachineHealthChecks and Machines. It sends nothing as long as no host of a Machine waits.
package capi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
)

const (
	clusterLabel = objects.MachineGroup + "/cluster-name"

	defaultStartup = 10 * time.Minute // Cluster API's default of the node startup timeout
	leastWait      = 15 * time.Minute // the shortest wait that a warning names
)

// Reason is the reason of the Event on a MachineHealthCheck.
const Reason = "NodeStartupTimeoutTooShort"

// Machine names a Metal3Machine.
type Machine = types.NamespacedName

// Warning says that a MachineHealthCheck removes Machines before their hosts get a slot.
type Warning struct {
	On   corev1.ObjectReference
	Text string
}

// Look returns a warning for each MachineHealthCheck that is too quick. waits has the Metal3Machines whose hosts wait
// for a slot, with the whole wait: until now, and at most from now on. It may return warnings with an error.
func Look(ctx context.Context, c client.Client, waits map[Machine]time.Duration) (all []Warning, err error) {
	s, namespaces := &objects.Server{Client: c, Account: "the throttle's account (component kubernetes)"}, map[string]bool{}
	for machine := range waits {
		namespaces[machine.Namespace] = true
	}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		in := client.InNamespace(namespace)
		for _, check := range objects.All(ctx, s, "MachineHealthCheck", objects.Whole[*objects.HealthCheck], in) {
			startup := startupOf(check.Spec)
			if startup == 0 || objects.Paused(check) {
				continue
			}
			if wait := longest(ctx, s, check, waits); wait > startup {
				all = append(all, warning(check, startup, wait))
			}
		}
	}
	return all, s.Err
}

// startupOf returns the node startup timeout; 0: the check removes no Machine for that.
func startupOf(spec objects.HealthCheckSpec) time.Duration {
	switch seconds := spec.Checks.NodeStartupTimeoutSeconds; {
	case seconds != nil:
		return time.Duration(*seconds) * time.Second
	case spec.NodeStartupTimeout != nil:
		return spec.NodeStartupTimeout.Duration
	}
	return defaultStartup
}

// longest returns the longest wait among the Machines of a MachineHealthCheck that have no node.
func longest(
	ctx context.Context, s *objects.Server, check *objects.HealthCheck, waits map[Machine]time.Duration,
) (longest time.Duration) {
	machines := metav1.AddLabelToSelector(&check.Spec.Selector, clusterLabel, check.Spec.ClusterName)
	selector, err := metav1.LabelSelectorAsSelector(machines)
	if err != nil {
		return 0 // Cluster API does not accept the selector either
	}
	objects.All(ctx, s, "Machine", func(m *objects.Machine) *objects.Machine {
		if ref := m.Spec.InfrastructureRef; ref.Kind == "Metal3Machine" && m.Status.NodeRef.Name == "" {
			longest = max(longest, waits[Machine{Namespace: check.Namespace, Name: ref.Name}])
		}
		return nil
	}, client.InNamespace(check.Namespace), client.MatchingLabelsSelector{Selector: selector})
	return longest
}

func warning(check *objects.HealthCheck, startup, wait time.Duration) Warning {
	named := leastWait // doubled until it is enough, so that the text rarely changes
	for named < wait {
		named *= 2
	}
	field := "spec.checks.nodeStartupTimeoutSeconds"
	kind := check.GroupVersionKind()
	if kind.Version == "v1beta1" {
		field = "spec.nodeStartupTimeout"
	}
	on := corev1.ObjectReference{
		APIVersion: check.APIVersion, Kind: kind.Kind, Namespace: check.Namespace, Name: check.Name, UID: check.UID,
	}
	const text = "MachineHealthCheck %s/%s removes Machines that have no node after %v, but hosts of its Machines may " +
		"wait %v for a slot: raise its %s above that and the time that provisioning takes, or pause it while you scale up: " +
		"kubectl annotate machinehealthcheck -n %[1]s %[2]s cluster.x-k8s.io/paused="
	return Warning{on, fmt.Sprintf(text, check.Namespace, check.Name, startup, named, field)}
}
