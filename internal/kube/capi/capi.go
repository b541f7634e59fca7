// Package capi looks at MachineHealthChecks of Cluster API. One of them removes a Machine that has no node after a while,
// and makes another one: that is no help where its host only waits for a slot, and the new one waits behind all others.
//
// Its rights are to list MachineHealthChecks and Machines, and to create Events. Nothing is asked for as long as no host
// of a Machine waits.
package capi

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/tell"
)

const (
	group        = "cluster.x-k8s.io"
	clusterLabel = group + "/cluster-name"
	pausedMark   = group + "/paused"
	skipMark     = group + "/skip-remediation"

	every   = time.Minute
	timeout = 30 * time.Second // of one look
	page    = 250              // Machines in one answer

	defaultStartup = 10 * time.Minute // of Cluster API's node startup timeout
	leastWait      = 15 * time.Minute // that a warning names
)

// Reason is that of the Event on a MachineHealthCheck.
const Reason = "NodeStartupTimeoutTooShort"

// Machine names a Metal3Machine.
type Machine struct{ Namespace, Name string }

// Checks warns of MachineHealthChecks. Set Client, Waits and Log before it runs.
type Checks struct {
	Client client.Client
	// Waits tells of each one whose host waits for a slot how long it does so in all: until now, and at most from now on.
	Waits    func() map[Machine]time.Duration
	Events   bool   // put the warning on the MachineHealthCheck, too
	Instance string // our name in Events
	Log      *slog.Logger

	fault  string          // the error that the log has; this and what follows belong to Run
	logged map[string]bool // the warnings that the log has; forgotten when none has stood for an hour
	told   map[string]bool // those that Events have; likewise
	stood  time.Time       // when one last did

	mu       sync.Mutex
	warnings []string
}

// Warnings are those that stand.
func (c *Checks) Warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.warnings
}

// Run looks every minute until ctx ends, and returns nil then.
func (c *Checks) Run(ctx context.Context) error {
	c.logged, c.told = map[string]bool{}, map[string]bool{}
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, timeout)
		standing, err := c.look(bounded)
		cancel()
		switch {
		case ctx.Err() != nil: // no fault of theirs
		case err == nil:
			c.fault = ""
			c.mu.Lock()
			c.warnings = standing
			c.mu.Unlock()
		case err.Error() != c.fault:
			c.fault = err.Error()
			c.Log.Info("MachineHealthChecks of Cluster API cannot be read (component cluster-api gives the right), so nobody warns of those that "+
				"remove Machines whose hosts wait: tried again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
	return nil
}

// look warns of each MachineHealthCheck that removes Machines before their hosts have had a slot.
func (c *Checks) look(ctx context.Context) (standing []string, err error) {
	waits, namespaces := c.Waits(), map[string]bool{}
	for machine := range waits {
		namespaces[machine.Namespace] = true
	}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		checks, err := c.checks(ctx, namespace)
		if err != nil {
			return nil, err
		}
		for _, check := range checks {
			startup, machines := read(&check)
			if startup == 0 || machines == nil {
				continue
			}
			wait, err := c.longest(ctx, &check, machines, waits)
			if err != nil {
				return nil, err
			}
			if wait > startup {
				standing = append(standing, c.warn(ctx, &check, startup, wait))
			}
		}
	}
	if len(standing) > 0 {
		c.stood = time.Now()
	} else if time.Since(c.stood) > time.Hour {
		clear(c.logged)
		clear(c.told)
	}
	return standing, nil
}

// checks are the MachineHealthChecks of a namespace, of the newest version that is served.
func (c *Checks) checks(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	var list unstructured.UnstructuredList
	var err error
	for _, version := range []string{"v1beta2", "v1beta1"} {
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: "MachineHealthCheckList"})
		if err = c.Client.List(ctx, &list, client.InNamespace(namespace)); !apierrors.IsNotFound(err) {
			break
		}
	}
	return list.Items, err
}

// read returns the node startup timeout of a MachineHealthCheck, 0 where it removes nobody for that, and what selects its
// Machines.
func read(check *unstructured.Unstructured) (startup time.Duration, machines labels.Selector) {
	var spec struct {
		ClusterName        string               `json:"clusterName"`
		Selector           metav1.LabelSelector `json:"selector"`
		NodeStartupTimeout *metav1.Duration     `json:"nodeStartupTimeout"` // v1beta1
		Checks             struct {
			NodeStartupTimeoutSeconds *int64 `json:"nodeStartupTimeoutSeconds"` // v1beta2
		} `json:"checks"`
	}
	fields, _, _ := unstructured.NestedMap(check.Object, "spec")
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec)
	if _, paused := check.GetAnnotations()[pausedMark]; err != nil || paused {
		return 0, nil
	}
	machines, err = metav1.LabelSelectorAsSelector(metav1.AddLabelToSelector(&spec.Selector, clusterLabel, spec.ClusterName))
	switch seconds := spec.Checks.NodeStartupTimeoutSeconds; {
	case err != nil:
		return 0, nil
	case seconds != nil:
		return time.Duration(*seconds) * time.Second, machines
	case spec.NodeStartupTimeout != nil:
		return spec.NodeStartupTimeout.Duration, machines
	}
	return defaultStartup, machines
}

// longest is the longest wait among the Machines of a MachineHealthCheck that have no node.
func (c *Checks) longest(
	ctx context.Context, check *unstructured.Unstructured, machines labels.Selector, waits map[Machine]time.Duration,
) (longest time.Duration, err error) {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(check.GroupVersionKind().GroupVersion().WithKind("MachineList"))
	for next := ""; ; {
		err := c.Client.List(ctx, &list, client.InNamespace(check.GetNamespace()), client.MatchingLabelsSelector{Selector: machines},
			client.Limit(page), client.Continue(next))
		if err != nil {
			return 0, err
		}
		for _, m := range list.Items {
			kind, _, _ := unstructured.NestedString(m.Object, "spec", "infrastructureRef", "kind")
			name, _, _ := unstructured.NestedString(m.Object, "spec", "infrastructureRef", "name")
			_, node, _ := unstructured.NestedFieldNoCopy(m.Object, "status", "nodeRef")
			_, paused := m.GetAnnotations()[pausedMark]
			if _, skipped := m.GetAnnotations()[skipMark]; kind == "Metal3Machine" && !node && !paused && !skipped {
				longest = max(longest, waits[Machine{Namespace: check.GetNamespace(), Name: name}])
			}
		}
		if next = list.GetContinue(); next == "" {
			return longest, nil
		}
	}
}

// warn returns the warning of a MachineHealthCheck, and tells it to the log and as an Event where that is new.
func (c *Checks) warn(ctx context.Context, check *unstructured.Unstructured, startup, wait time.Duration) string {
	named := leastWait // or a multiple by two, so that the text changes seldom
	for named < wait {
		named *= 2
	}
	warning := text(check, startup, named)
	if !c.logged[warning] {
		c.logged[warning] = true
		c.Log.Warn("Cluster API", "warning", warning)
	}
	if c.Events && !c.told[warning] {
		on := corev1.ObjectReference{
			APIVersion: check.GetAPIVersion(), Kind: check.GetKind(), Namespace: check.GetNamespace(), Name: check.GetName(), UID: check.GetUID(),
		}
		err := c.Client.Create(ctx, tell.Event(on, corev1.EventTypeWarning, Reason, warning, c.Instance, time.Now()))
		c.told[warning] = err == nil // else the next look tries again
	}
	return warning
}

func text(check *unstructured.Unstructured, startup, wait time.Duration) string {
	field := "spec.checks.nodeStartupTimeoutSeconds"
	if check.GroupVersionKind().Version == "v1beta1" {
		field = "spec.nodeStartupTimeout"
	}
	return fmt.Sprintf("MachineHealthCheck %s/%s removes Machines that have no node after %v, but hosts of its Machines may wait %v for a slot: "+
		"raise its %s above that and the time that provisioning takes, or pause it while you scale up: "+
		"kubectl annotate machinehealthcheck -n %[1]s %[2]s %[6]s=", check.GetNamespace(), check.GetName(), startup, wait, field, pausedMark)
}
