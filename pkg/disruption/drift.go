package disruption

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	k8slabels "k8s.io/apimachinery/pkg/labels"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// drift is how a host is not as it is wanted, in sentences, by the method that looks at it: StaticDrift at its template and
// fields, Drift at its labels.
type drift map[api.PlanMethod][]string

// evidence are all sentences.
func (d drift) evidence() []string {
	return slices.Concat(d[api.MethodStaticDrift], d[api.MethodDrift])
}

// driftOf compares what is wanted with what is known. What is not known is no drift, nor is what the next reboot brings.
func driftOf(h *host) drift {
	d := drift{}
	add := func(by api.PlanMethod, format string, args ...any) {
		d[by] = append(d[by], fmt.Sprintf(format, args...))
	}
	m, q := h.Machine, h.pool
	if m != nil && q != nil && m.Template != "" && q.Template != "" && m.Template != q.Template {
		add(api.MethodStaticDrift, "its Machine was made of template %s, and %s has %s now", clip(m.Template), q.name, clip(q.Template))
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

// clip shortens what others wrote to what fits in a sentence.
func clip(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
