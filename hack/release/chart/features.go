// Package chart makes the templates of the Helm chart out of what kustomize builds of deploy/. It builds
// the components one by one and together, looks which lines come with which, and writes an if around
// them. So the chart has no source of its own: what is in deploy/ is in it, and what is not is not.
// Chart.yaml, the values and their schema are in deploy/chart.
package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// feature is a value of the chart that switches a component on.
type feature struct {
	name      string // its file of templates is called after it
	component string // in deploy/components; "" for what is an overlay
	when      string // the condition in a template
}

// features in the order in which kustomize gets the components. Component kubernetes is always there.
var features = []feature{
	{"basic-auth", "basic-auth", ".Values.basicAuth"},
	{"tls", "tls", ".Values.tls"},
	{"irso", "irso", ".Values.irso"},
	{"certificate", "certificate", ".Values.certificate"},
	{"gateway-service", "gateway-service", ".Values.gatewayService"},
	{"api-service", "api-service", ".Values.apiService"},
	{"high-availability", "high-availability", "(gt (int .Values.replicas) 1)"},
	{"pod-guard", "pod-guard", ".Values.podGuard"},
	{"cluster-api", "cluster-api", ".Values.clusterApi"},
	{"planner", "planner", ".Values.plannedWork"},
	{"planner-execute", "planner-execute", `(eq .Values.plannedWork "execute")`},
	{"monitoring", "monitoring", ".Values.monitoring"},
	{"namespace-scoped", "namespace-scoped", ".Values.watchNamespace"},
	{"observe", "", ".Values.observe"},
}

// Kustomization is what builds with kustomize what the chart makes of these features. DEPLOY in it
// is the folder deploy.
func Kustomization(on map[string]bool) string {
	var b strings.Builder
	if on["observe"] {
		b.WriteString("resources: [DEPLOY/overlays/observe]\ncomponents:\n")
	} else {
		b.WriteString("resources: [DEPLOY/base]\ncomponents:\n- DEPLOY/components/kubernetes\n")
	}
	for _, f := range features {
		if f.component == "" || !on[f.name] || f.name == "pod-guard" && !on["high-availability"] {
			continue
		}
		fmt.Fprintf(&b, "- DEPLOY/components/%s\n", f.component)
	}
	b.WriteString(plainNames)
	return strings.ReplaceAll(b.String(), "components:\nconfig", "config")
}

// plainNames leaves out the hashes of kustomize: Helm's objects have the same names for ever, and
// an annotation of the pod changes with the settings.
const plainNames = `configMapGenerator:
- name: ironic-throttle-components
  namespace: baremetal-operator-system
  behavior: merge
  options: {disableNameSuffixHash: true}
- name: ironic-throttle-env
  namespace: baremetal-operator-system
  behavior: merge
  options: {disableNameSuffixHash: true}
`

// samples are enough sets of features to tell which of them a line comes with: each alone, all, and
// all but one.
func samples() []map[string]bool {
	all := map[string]bool{}
	for _, f := range features {
		all[f.name] = f.name != "observe" // which is another base
	}
	sets := []map[string]bool{{}, all}
	for _, f := range features {
		alone, without := map[string]bool{f.name: true}, maps.Clone(all)
		without[f.name] = false
		switch f.name {
		case "planner-execute":
			alone["planner"] = true
		case "planner":
			without["planner-execute"] = false
		case "observe":
			without = maps.Clone(all)
			without["observe"] = true
		}
		sets = append(sets, alone, without)
	}
	return sets
}

// condition is when something is there: an expression for a template ("" for always), and the
// feature that it is filed under.
type condition struct{ when, file string }

// explain finds the simplest condition that is true in those samples of in that has names, and in no other
// of in.
func explain(sets []map[string]bool, in, has []bool) (condition, error) {
	fits := func(holds func(on map[string]bool) bool) bool {
		for i, on := range sets {
			if in[i] && holds(on) != has[i] {
				return false
			}
		}
		return true
	}
	if fits(func(map[string]bool) bool { return true }) {
		return condition{}, nil
	}
	for _, f := range features {
		if fits(func(on map[string]bool) bool { return on[f.name] }) {
			return condition{strings.Trim(f.when, "()"), f.name}, nil
		}
	}
	for _, f := range features {
		if fits(func(on map[string]bool) bool { return !on[f.name] }) {
			return condition{"not " + f.when, ""}, nil
		}
	}
	for i, f := range features {
		for _, g := range features[i+1:] {
			if fits(func(on map[string]bool) bool { return on[f.name] && on[g.name] }) {
				return condition{"and " + f.when + " " + g.when, g.name}, nil
			}
		}
	}
	// Any of those that are enough alone.
	var enough []feature
	for _, f := range features {
		if i := slices.IndexFunc(sets, func(on map[string]bool) bool { return maps.Equal(on, map[string]bool{f.name: true}) }); i >= 0 && in[i] && has[i] {
			enough = append(enough, f)
		}
	}
	if len(enough) > 0 && fits(func(on map[string]bool) bool {
		return slices.ContainsFunc(enough, func(f feature) bool { return on[f.name] })
	}) {
		when := "or"
		for _, f := range enough {
			when += " " + f.when
		}
		return condition{when, enough[0].name}, nil
	}
	return condition{}, fmt.Errorf("no simple condition: in %v", where(sets, has))
}

// where lists the samples of has, for an error.
func where(sets []map[string]bool, has []bool) (names []string) {
	for i, on := range sets {
		if has[i] {
			names = append(names, strings.Join(slices.Sorted(func(yield func(string) bool) {
				for name, set := range on {
					if set && !yield(name) {
						return
					}
				}
			}), "+"))
		}
	}
	return names
}
