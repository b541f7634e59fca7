// Package capi looks at MachineHealthChecks of Cluster API. One of them removes a Machine that has no node after a while,
// and makes another one: that is no help where its host only waits for a slot, and the new one waits behind all others.
//
// Its rights are to list MachineHealthChecks and Machines. Nothing is asked for as long as no host of a Machine waits.
package capi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
)

const (
	clusterLabel = objects.MachineGroup + "/cluster-name"
	page         = 250 // Machines in one answer

	defaultStartup = 10 * time.Minute // of Cluster API's node startup timeout
	leastWait      = 15 * time.Minute // that a warning names
)

// Reason is that of the Event on a MachineHealthCheck.
const Reason = "NodeStartupTimeoutTooShort"

// Machine names a Metal3Machine.
type Machine struct{ Namespace, Name string }

// Warning is about a MachineHealthCheck that removes Machines before their hosts have had a slot.
type Warning struct {
	On   corev1.ObjectReference
	Text string
}

// Look returns a warning for each MachineHealthCheck that is too quick. waits are the Metal3Machines whose hosts wait for a
// slot, and for how long in all: until now, and at most from now on.
func Look(ctx context.Context, c client.Client, waits map[Machine]time.Duration) (all []Warning, err error) {
	namespaces := map[string]bool{}
	for machine := range waits {
		namespaces[machine.Namespace] = true
	}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		checks, version, err := list(ctx, c, namespace)
		if err != nil {
			return nil, err
		}
		for _, check := range checks {
			startup := startupOf(check.Spec)
			if startup == 0 || objects.Paused(&check) {
				continue
			}
			wait, err := longest(ctx, c, &check, version, waits)
			if err != nil {
				return nil, err
			}
			if wait > startup {
				all = append(all, warning(&check, version, startup, wait))
			}
		}
	}
	return all, nil
}

// list returns the MachineHealthChecks of a namespace, of the newest version that is served.
func list(ctx context.Context, c client.Client, namespace string) (_ []objects.HealthCheck, version schema.GroupVersion, err error) {
	var checks objects.HealthCheckList
	for _, name := range objects.Versions {
		version = schema.GroupVersion{Group: objects.MachineGroup, Version: name}
		err = c.List(ctx, objects.As(&checks, version.WithKind("MachineHealthCheckList")), client.InNamespace(namespace))
		if !apierrors.IsNotFound(err) {
			break
		}
	}
	return checks.Items, version, err
}

// startupOf is the node startup timeout; 0 = nobody is removed for that.
func startupOf(spec objects.HealthCheckSpec) time.Duration {
	switch seconds := spec.Checks.NodeStartupTimeoutSeconds; {
	case seconds != nil:
		return time.Duration(*seconds) * time.Second
	case spec.NodeStartupTimeout != nil:
		return spec.NodeStartupTimeout.Duration
	}
	return defaultStartup
}

// longest is the longest wait among the Machines of a MachineHealthCheck that have no node.
func longest(
	ctx context.Context, c client.Client, check *objects.HealthCheck, version schema.GroupVersion, waits map[Machine]time.Duration,
) (longest time.Duration, err error) {
	selector, err := metav1.LabelSelectorAsSelector(metav1.AddLabelToSelector(&check.Spec.Selector, clusterLabel, check.Spec.ClusterName))
	if err != nil {
		return 0, nil //nolint:nilerr // Cluster API takes nothing by it either
	}
	for next := ""; ; {
		var machines objects.MachineList
		err := c.List(ctx, objects.As(&machines, version.WithKind("MachineList")), client.InNamespace(check.Namespace),
			client.MatchingLabelsSelector{Selector: selector}, client.Limit(page), client.Continue(next))
		if err != nil {
			return 0, err
		}
		for _, m := range machines.Items {
			if ref := m.Spec.InfrastructureRef; ref.Kind == "Metal3Machine" && m.Status.NodeRef.Name == "" {
				longest = max(longest, waits[Machine{Namespace: check.Namespace, Name: ref.Name}])
			}
		}
		if next = machines.Continue; next == "" {
			return longest, nil
		}
	}
}

func warning(check *objects.HealthCheck, version schema.GroupVersion, startup, wait time.Duration) Warning {
	named := leastWait // or a multiple by two, so that the text changes seldom
	for named < wait {
		named *= 2
	}
	field := "spec.checks.nodeStartupTimeoutSeconds"
	if version.Version == "v1beta1" {
		field = "spec.nodeStartupTimeout"
	}
	on := corev1.ObjectReference{
		APIVersion: version.String(), Kind: "MachineHealthCheck", Namespace: check.Namespace, Name: check.Name, UID: check.UID,
	}
	return Warning{on, fmt.Sprintf("MachineHealthCheck %s/%s removes Machines that have no node after %v, but hosts of its Machines may wait %v "+
		"for a slot: raise its %s above that and the time that provisioning takes, or pause it while you scale up: "+
		"kubectl annotate machinehealthcheck -n %[1]s %[2]s cluster.x-k8s.io/paused=", check.Namespace, check.Name, startup, named, field)}
}
