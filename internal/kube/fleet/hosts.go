package fleet

import (
	"context"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

type image struct {
	URL      string `json:"url"`
	Checksum string `json:"checksum"`
}

// hostWire is what is decoded of a BareMetalHost. The hardware details, most of it, are passed over.
type hostWire struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Online                bool   `json:"online"`
		ExternallyProvisioned bool   `json:"externallyProvisioned"`
		Image                 *image `json:"image"`
		RAID                  *raid  `json:"raid"`
		ConsumerRef           *struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Namespace  string `json:"namespace"`
			Name       string `json:"name"`
		} `json:"consumerRef"`
	} `json:"spec"`
	Status struct {
		OperationalStatus metal3.OperationalStatus `json:"operationalStatus"`
		ErrorType         metal3.ErrorType         `json:"errorType"`
		PoweredOn         bool                     `json:"poweredOn"`
		Provisioning      struct {
			ID    string `json:"ID"`
			State string `json:"state"`
			Image image  `json:"image"`
			RAID  *raid  `json:"raid"`
		} `json:"provisioning"`
	} `json:"status"`
}

// host is a BareMetalHost, with what leads to its machine.
type host struct {
	disruption.Host
	uid      string
	consumer disruption.Key // the Metal3Machine that has it; zero: none
	wants    *image         // spec.image
	runs     image
}

func hostOf(p *shared) func(*hostWire) host {
	return func(w *hostWire) host {
		n := notes{of: w.Metadata.Annotations}
		h := host{uid: w.Metadata.UID, wants: w.Spec.Image, runs: w.Status.Provisioning.Image}
		h.Key = disruption.Key{Namespace: p.text(w.Metadata.Namespace), Name: w.Metadata.Name}
		h.NodeUUID, h.State = strings.ToLower(w.Status.Provisioning.ID), p.text(w.Status.Provisioning.State)
		h.Online, h.PoweredOn = w.Spec.Online, w.Status.PoweredOn
		h.External, h.Deleting = w.Spec.ExternallyProvisioned, w.Metadata.DeletionTimestamp != nil
		h.Paused, h.Detached = has(n.of, metal3.PausedAnnotation), has(n.of, metal3.DetachedAnnotation)
		h.Failed = w.Status.OperationalStatus == metal3.OperationalStatusError || w.Status.ErrorType != ""
		h.Labels, h.Created = p.labels(w.Metadata.Labels), w.Metadata.CreationTimestamp.UTC()
		if c := w.Spec.ConsumerRef; c != nil {
			key := disruption.Key{Namespace: c.Namespace, Name: c.Name}
			h.Consumer = strings.TrimSpace(c.Kind + " " + key.String())
			if group, _, _ := strings.Cut(c.APIVersion, "/"); c.Kind == "Metal3Machine" && group == infrastructureGroup {
				h.consumer = key
			}
		}
		h.Class, h.Price = n.class(), n.price()
		// What cannot be read protects the host: it allows nothing, and forbids what it may forbid.
		h.Preemptible = n.flag("preemptible", false)
		h.DoNotDisrupt, h.Storage = n.flag("do-not-disrupt", true), n.flag("storage", true)
		h.Disrupting = has(w.Metadata.Labels, commandLabel)
		h.Faults = n.faults
		h.differs("raid", w.Spec.RAID.text(w.Spec.RAID), w.Status.Provisioning.RAID.text(w.Spec.RAID))
		return h
	}
}

// differs notes what a field should be and is. What one of them does not say is not known.
func (h *host) differs(field, desired, applied string) {
	if desired != "" {
		if h.Desired == nil {
			h.Desired = map[string]string{}
		}
		h.Desired[field] = desired
	}
	if applied != "" {
		if h.Applied == nil {
			h.Applied = map[string]string{}
		}
		h.Applied[field] = applied
	}
}

func (r *Reader) hosts(ctx context.Context, p *shared) ([]host, error) {
	g, err := r.client.discover(ctx, metal3.GroupVersion.Group, metal3.GroupVersion.Version)
	if err != nil {
		return nil, err
	}
	all, err := custom(ctx, r.client, g, "baremetalhosts", hostOf(p))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	f, err := r.firmware(ctx, g)
	if err != nil {
		return nil, err
	}
	for i := range all {
		f.apply(&all[i])
	}
	return all, nil
}
