package disruption

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	k8slabels "k8s.io/apimachinery/pkg/labels"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// drift is how a host is not as it is wanted.
type drift struct {
	static  []string  // its template, or a field, has changed
	dynamic []string  // it no longer meets its pool's requirements
	reboot  []string  // firmware settings that the next reboot applies
	since   time.Time // when it was first seen, else the host's age
}

func (d drift) any() bool { return len(d.static)+len(d.dynamic) > 0 }

// of tells whether a method looks at this drift.
func (d drift) of(m api.PlanMethod) bool {
	if m == api.MethodStaticDrift {
		return len(d.static) > 0
	}
	return len(d.dynamic) > 0
}

// evidence are all sentences.
func (d drift) evidence() []string { return slices.Concat(d.static, d.dynamic) }

// driftOf compares what is wanted with what is known. What is not known is no drift.
func driftOf(h *host) drift {
	d := drift{since: h.DriftedSince}
	if d.since.IsZero() {
		d.since = h.Created
	}
	for _, field := range slices.Sorted(maps.Keys(h.Desired)) {
		want := h.Desired[field]
		have, known := h.Applied[field]
		if !known || have == want {
			continue
		}
		said := fmt.Sprintf("%s is %q, and should be %q", clip(field), clip(have), clip(want))
		if h.OnReboot && strings.HasPrefix(field, "firmware.") {
			d.reboot = append(d.reboot, said)
		} else {
			d.static = append(d.static, said)
		}
	}
	m, q := h.Machine, h.pool
	if m == nil || q == nil {
		return d
	}
	if hashesDiffer(q.TemplateHash, m.TemplateHash) {
		d.static = slices.Insert(d.static, 0, fmt.Sprintf("its Machine was made of template %s, and %s has %s now", clip(m.TemplateHash), q.name, clip(q.TemplateHash)))
	}
	if q.selector != nil && !q.selector.Matches(k8slabels.Set(h.Labels)) {
		d.dynamic = append(d.dynamic, fmt.Sprintf("its labels do not match the hostSelector of %s: %s", q.name, clip(q.selector.String())))
	}
	return d
}

// hashesDiffer compares two hashes of one version, the text before the first '-'.
func hashesDiffer(a, b string) bool {
	one, _, ok1 := strings.Cut(a, "-")
	two, _, ok2 := strings.Cut(b, "-")
	return ok1 && ok2 && one != "" && one == two && a != b
}

// clip shortens what others wrote to what fits in a sentence.
func clip(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
