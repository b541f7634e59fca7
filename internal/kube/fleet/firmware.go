package fleet

import (
	"context"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// firmware completes the hosts with what the objects of their names say of their firmware. HostFirmwareComponents ask
// for an update by its URL, and BMO notes in the status the URL of what was done; the versions say nothing of a URL.
func (r *Reader) firmware(ctx context.Context, own *objects.Server, hosts []host) {
	if len(hosts) == 0 {
		return
	}
	named := by(hosts, func(h *host) disruption.Key { return h.Key })
	of := func(o metav1.Object) *host {
		if h := named[keyOf(o)]; h != nil {
			return h
		}
		return &host{} // nobody's
	}
	all(ctx, r, own, "HostFirmwareSettings", func(s *metal3.HostFirmwareSettings) *host {
		h := of(s)
		for name, want := range s.Spec.Settings { // a host has a thousand others
			h.differs("firmware."+name, want.String(), s.Status.Settings[name])
		}
		return h.changed(s.Status.Conditions)
	})
	all(ctx, r, own, "HostFirmwareComponents", func(c *metal3.HostFirmwareComponents) *host {
		h, applied := of(c), map[string]string{}
		for _, u := range c.Status.Updates {
			applied[u.Component] = u.URL
		}
		for _, u := range c.Spec.Updates {
			h.differs("firmware.component."+u.Component, u.URL, applied[u.Component])
		}
		return h.changed(c.Status.Conditions)
	})
	all(ctx, r, own, "HostUpdatePolicy", func(p *metal3.HostUpdatePolicy) *host {
		h := of(p)
		// Where one of both waits for a reboot, that comes first.
		const onReboot = metal3.HostUpdatePolicyOnReboot
		h.OnReboot = p.Spec.FirmwareSettings == onReboot || p.Spec.FirmwareUpdates == onReboot
		return h
	})
}

// changed notes since when the firmware is not as it is wanted.
func (h *host) changed(conditions []metav1.Condition) *host {
	if c := meta.FindStatusCondition(conditions, "ChangeDetected"); c != nil && c.Status == metav1.ConditionTrue {
		h.DriftedSince = earliest(h.DriftedSince, c.LastTransitionTime.UTC())
	}
	return h
}

// earliest is the first of the times that are known.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
