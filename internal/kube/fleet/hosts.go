package fleet

import (
	"context"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// host is a BareMetalHost, with the objects that belong to it.
type host struct {
	disruption.Host
	object   *objects.Host
	consumer disruption.Key // the Metal3Machine that has it; zero: none
	machine  *objects.Machine
	pool     *pool
	node     *node
}

func newHost(object *objects.Host) host {
	n := &notes{annotations: object.Annotations}
	h := host{object: object}
	h.Key, h.Labels = keyOf(object), object.Labels
	h.State = object.Status.Provisioning.State
	h.External, h.Deleting = object.Spec.ExternallyProvisioned, object.DeletionTimestamp != nil
	h.Paused, h.Detached = has(n.annotations, metal3.PausedAnnotation), has(n.annotations, metal3.DetachedAnnotation)
	h.Failed = object.Status.OperationalStatus == metal3.OperationalStatusError || object.Status.ErrorType != ""
	if c := object.Spec.ConsumerRef; c != nil {
		key := disruption.Key{Namespace: c.Namespace, Name: c.Name}
		h.Consumer = strings.TrimSpace(c.Kind + " " + key.String())
		if c.Kind == "Metal3Machine" && schema.FromAPIVersionAndKind(c.APIVersion, "").Group == objects.InfrastructureGroup {
			h.consumer = key
		}
	}
	h.Class = strings.TrimSpace(n.annotations[prefix+"class"])
	h.Price = disruption.Price{WattsBusy: value(n, "watts-busy", number), WattsIdle: value(n, "watts-idle", number)}
	h.DoNotDisrupt, h.Storage = objects.Forbids(object), isTrue(value(n, "storage", flag))
	h.Disrupting = has(object.Labels, commandLabel)
	h.Faults = n.faults
	return h
}

// differs notes what a field should be and is. An empty text is not known.
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

// image notes the image of the host, and that of its pool's template, which it should have.
func (h *host) image() {
	if h.pool != nil && h.pool.template != nil {
		want, runs := h.pool.template.Spec.Template.Spec.Image, h.object.Status.Provisioning.Image
		h.differs("image.url", want.URL, runs.URL)
		h.differs("image.checksum", want.Checksum, runs.Checksum)
	}
}

// capacities fills in what a node on a host without one could allocate: the least that Ready nodes of its class can.
func capacities(hosts []host) {
	least := map[string]disruption.Resources{}
	for i := range hosts {
		h := &hosts[i]
		if h.node == nil || h.Class == "" || !h.node.Ready || len(h.node.Allocatable) == 0 {
			continue
		}
		if was, ok := least[h.Class]; ok {
			least[h.Class] = smaller(was, h.node.Allocatable)
		} else {
			least[h.Class] = h.node.Allocatable
		}
	}
	for i := range hosts {
		if h := &hosts[i]; h.node == nil {
			h.Capacity = least[h.Class]
		}
	}
}

// firmware fills in the firmware of hosts from the objects of the same names. HostFirmwareComponents ask for an update
// by its URL, and BMO writes the URL of a finished update into the status. The versions there do not tell the URL.
func (r *Reader) firmware(ctx context.Context, own *objects.Server, hosts []host) {
	if len(hosts) == 0 {
		return
	}
	named := by(hosts, func(h *host) disruption.Key { return h.Key })
	hostOf := func(o metav1.Object) *host {
		if h := named[keyOf(o)]; h != nil {
			return h
		}
		return &host{} // no host has this object
	}
	all(ctx, r, own, "HostFirmwareSettings", func(s *metal3.HostFirmwareSettings) *host {
		h := hostOf(s)
		for name, want := range s.Spec.Settings { // the status has a thousand others
			h.differs("firmware."+name, want.String(), s.Status.Settings[name])
		}
		return h
	})
	all(ctx, r, own, "HostFirmwareComponents", func(c *metal3.HostFirmwareComponents) *host {
		h, applied := hostOf(c), map[string]string{}
		for _, u := range c.Status.Updates {
			applied[u.Component] = u.URL
		}
		for _, u := range c.Spec.Updates {
			h.differs("firmware.component."+u.Component, u.URL, applied[u.Component])
		}
		return h
	})
	all(ctx, r, own, "HostUpdatePolicy", func(p *metal3.HostUpdatePolicy) *host {
		h := hostOf(p)
		// If one of both waits for a reboot, so does the host.
		const onReboot = metal3.HostUpdatePolicyOnReboot
		h.OnReboot = p.Spec.FirmwareSettings == onReboot || p.Spec.FirmwareUpdates == onReboot
		return h
	})
}
