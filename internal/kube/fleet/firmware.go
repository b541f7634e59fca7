package fleet

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// raid is a RAID configuration. A list that is empty asks to clear the volumes, and one that is
// absent for nothing; neither is compared, for the status does not tell them apart.
type raid struct {
	Hardware []any `json:"hardwareRAIDVolumes,omitempty"`
	Software []any `json:"softwareRAIDVolumes,omitempty"`
}

// text is the configuration in one form, as far as desired has it; "" = it says nothing of that.
func (r *raid) text(desired *raid) string {
	if r == nil || desired == nil {
		return ""
	}
	var of raid
	if len(desired.Hardware) > 0 {
		if of.Hardware = dropNulls(r.Hardware); len(of.Hardware) == 0 {
			return ""
		}
	}
	if len(desired.Software) > 0 {
		if of.Software = dropNulls(r.Software); len(of.Software) == 0 {
			return ""
		}
	}
	if of.Hardware == nil && of.Software == nil {
		return ""
	}
	text, err := json.Marshal(of)
	if err != nil {
		return ""
	}
	return string(text)
}

// dropNulls takes the fields that are null from volumes: BMO writes the ones that are absent so.
func dropNulls(volumes []any) []any {
	for _, v := range volumes {
		if m, ok := v.(map[string]any); ok {
			for key, value := range m {
				if value == nil {
					delete(m, key)
				}
			}
		}
	}
	return volumes
}

// settings are HostFirmwareSettings.
type settings struct {
	disruption.Key
	desired, applied map[string]string
	changed          time.Time // since when they differ; zero: not known
}

func settingsOf(w *struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Settings map[string]intstr.IntOrString `json:"settings"`
	} `json:"spec"`
	Status struct {
		Settings   map[string]string `json:"settings"`
		Conditions []condition       `json:"conditions"`
	} `json:"status"`
}) settings {
	s := settings{Key: w.Metadata.key(), desired: map[string]string{}, applied: map[string]string{}}
	for name, want := range w.Spec.Settings {
		s.desired[name] = want.String()
		if is, ok := w.Status.Settings[name]; ok { // a host has a thousand others
			s.applied[name] = is
		}
	}
	s.changed = changeDetected(w.Status.Conditions)
	return s
}

type update struct {
	Component string `json:"component"`
	URL       string `json:"url"`
}

// components are HostFirmwareComponents. They ask for an update by its URL; that its status has
// the same URL is how BMO notes that it was done. The versions say nothing of a URL.
type components struct {
	disruption.Key
	desired, applied map[string]string // URL by component
	changed          time.Time
}

func componentsOf(w *struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Updates []update `json:"updates"`
	} `json:"spec"`
	Status struct {
		Updates    []update    `json:"updates"`
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}) components {
	c := components{Key: w.Metadata.key(), desired: map[string]string{}, applied: map[string]string{}}
	for _, u := range w.Spec.Updates {
		c.desired[u.Component] = u.URL
	}
	for _, u := range w.Status.Updates {
		c.applied[u.Component] = u.URL
	}
	c.changed = changeDetected(w.Status.Conditions)
	return c
}

func changeDetected(all []condition) time.Time {
	for _, c := range all {
		if c.Type == "ChangeDetected" && c.Status == string(metav1.ConditionTrue) {
			return c.LastTransitionTime.UTC()
		}
	}
	return time.Time{}
}

// updatePolicy is a HostUpdatePolicy.
type updatePolicy struct {
	disruption.Key
	onReboot bool
}

func updatePolicyOf(w *struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		FirmwareSettings string `json:"firmwareSettings"`
		FirmwareUpdates  string `json:"firmwareUpdates"`
	} `json:"spec"`
}) updatePolicy {
	const onReboot = "onReboot"
	// Where one of both waits for a reboot, that comes first.
	return updatePolicy{Key: w.Metadata.key(), onReboot: w.Spec.FirmwareSettings == onReboot || w.Spec.FirmwareUpdates == onReboot}
}

// firmware is what is known of the firmware of hosts, by host: all these objects have its name.
type firmware struct {
	settings   map[disruption.Key]settings
	components map[disruption.Key]components
	onReboot   map[disruption.Key]bool
}

func (r *Reader) firmware(ctx context.Context, g group) (firmware, error) {
	f := firmware{settings: map[disruption.Key]settings{}, components: map[disruption.Key]components{}, onReboot: map[disruption.Key]bool{}}
	all, err := custom(ctx, r.client, g, "hostfirmwaresettings", settingsOf)
	if err != nil {
		return f, err
	}
	parts, err := custom(ctx, r.client, g, "hostfirmwarecomponents", componentsOf)
	if err != nil {
		return f, err
	}
	policies, err := custom(ctx, r.client, g, "hostupdatepolicies", updatePolicyOf)
	for _, s := range all {
		f.settings[s.Key] = s
	}
	for _, c := range parts {
		f.components[c.Key] = c
	}
	for _, p := range policies {
		f.onReboot[p.Key] = p.onReboot
	}
	return f, err
}

func (f *firmware) apply(h *host) {
	s, c := f.settings[h.Key], f.components[h.Key]
	for name, want := range s.desired {
		h.differs("firmware."+name, want, s.applied[name])
	}
	for name, want := range c.desired {
		h.differs("firmware.component."+name, want, c.applied[name])
	}
	h.OnReboot = f.onReboot[h.Key]
	h.DriftedSince = earliest(s.changed, c.changed)
}

// earliest is the first of the times that are known.
func earliest(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
