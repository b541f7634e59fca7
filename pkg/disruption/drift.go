package disruption

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	k8slabels "k8s.io/apimachinery/pkg/labels"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// drift has a sentence for each way in which a host differs from what is wanted, by the method that finds it:
// StaticDrift compares template and fields, Drift labels.
type drift map[api.PlanMethod][]string

// evidence returns all sentences.
func (d drift) evidence() []string {
	return slices.Concat(d[api.MethodStaticDrift], d[api.MethodDrift])
}

// driftOf compares a host with what is wanted. An unknown value is no drift, nor is one that the next reboot applies.
func driftOf(h *host) drift {
	d := drift{}
	add := func(by api.PlanMethod, format string, args ...any) {
		d[by] = append(d[by], fmt.Sprintf(format, args...))
	}
	m, q := h.Machine, h.pool
	if m != nil && q != nil && m.Template != "" && q.Template != "" && m.Template != q.Template {
		const format = "its Machine was made of template %s, and %s has %s now"
		add(api.MethodStaticDrift, format, clip(m.Template), q.name, clip(q.Template))
	}
	for _, field := range slices.Sorted(maps.Keys(h.Desired)) {
		want := h.Desired[field]
		have, known := h.Applied[field]
		if known && have != want && !(h.OnReboot && strings.HasPrefix(field, "firmware.")) {
			add(api.MethodStaticDrift, "%s is %q, and should be %q", clip(field), clip(have), clip(want))
		}
	}
	if m != nil && q != nil && q.selector != nil && !q.selector.Matches(k8slabels.Set(h.Labels)) {
		add(api.MethodDrift, "its labels do not match the hostSelector of %s: %s", q.name, clip(q.selector.String()))
	}
	return d
}

// clip shortens foreign text so that it fits in a sentence.
func clip(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
