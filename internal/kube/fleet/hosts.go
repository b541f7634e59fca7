package fleet

import (
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// host is a BareMetalHost, with what belongs to it.
type host struct {
	disruption.Host
	of       *objects.Host
	consumer disruption.Key // the Metal3Machine that has it; zero: none
	machine  *objects.Machine
	pool     *pool
	node     *node
}

func newHost(of *objects.Host) host {
	n := &notes{of: of.Annotations}
	at := of.Status.Provisioning
	h := host{of: of}
	h.Key, h.Labels, h.Created = keyOf(of), of.Labels, of.CreationTimestamp.UTC()
	h.NodeUUID, h.State = strings.ToLower(at.ID), at.State
	h.Online, h.PoweredOn = of.Spec.Online, of.Status.PoweredOn
	h.External, h.Deleting = of.Spec.ExternallyProvisioned, of.DeletionTimestamp != nil
	h.Paused, h.Detached = has(n.of, metal3.PausedAnnotation), has(n.of, metal3.DetachedAnnotation)
	h.Failed = of.Status.OperationalStatus == metal3.OperationalStatusError || of.Status.ErrorType != ""
	if c := of.Spec.ConsumerRef; c != nil {
		key := disruption.Key{Namespace: c.Namespace, Name: c.Name}
		h.Consumer = strings.TrimSpace(c.Kind + " " + key.String())
		if c.Kind == "Metal3Machine" && schema.FromAPIVersionAndKind(c.APIVersion, "").Group == objects.InfrastructureGroup {
			h.consumer = key
		}
	}
	h.Class, h.Price = valueOr(n, "class", word, ""), n.price()
	// What cannot be read protects the host: it allows nothing, and forbids what it may forbid.
	h.Preemptible = valueOr(n, "preemptible", flag, false)
	h.DoNotDisrupt, h.Storage = valueOr(n, "do-not-disrupt", flag, true), valueOr(n, "storage", flag, true)
	h.Disrupting = has(of.Labels, commandLabel)
	h.Faults = n.faults
	return h
}

// differs notes what a field should be and is. What one of them does not say is not known.
func (h *host) differs(field, desired, applied string) {
	if h.Desired == nil {
		h.Desired, h.Applied = map[string]string{}, map[string]string{}
	}
	if desired != "" {
		h.Desired[field] = desired
	}
	if applied != "" {
		h.Applied[field] = applied
	}
}

// image notes which image a host should have: that of its pool's template, or without a Machine its own.
func (h *host) image() {
	var want objects.Image
	switch {
	case h.pool != nil && h.pool.template != nil:
		want = h.pool.template.Spec.Template.Spec.Image
		if h.Machine.TemplateHash != "" && h.Machine.TemplateHash != h.pool.TemplateHash {
			h.DriftedSince = earliest(h.DriftedSince, h.pool.template.CreationTimestamp.UTC())
		}
	case h.Machine == nil && h.of.Spec.Image != nil:
		want = *h.of.Spec.Image
	}
	runs := h.of.Status.Provisioning.Image
	h.differs("image.url", want.URL, runs.URL)
	h.differs("image.checksum", want.Checksum, runs.Checksum)
}

// capacities tells what a node on each host could allocate: what its own does, or the least that the Ready nodes of its
// class do.
func capacities(hosts []host) {
	least := map[string]disruption.Resources{}
	for i := range hosts {
		h := &hosts[i]
		if h.node == nil {
			continue
		}
		h.Capacity = h.node.Allocatable
		if h.Class == "" || !h.node.Ready || len(h.Capacity) == 0 {
			continue
		}
		if was, ok := least[h.Class]; ok {
			least[h.Class] = smaller(was, h.Capacity)
		} else {
			least[h.Class] = h.Capacity
		}
	}
	for i := range hosts {
		if h := &hosts[i]; h.node == nil {
			h.Capacity = least[h.Class]
		}
	}
}
