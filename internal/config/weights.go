package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a weight.
const (
	minWeight = 0.01
	maxWeight = 100
)

// weightsValue is a list of namespace=weight pairs. A weight of 0 is a fault: it
// would be a namespace that never gets a slot.
type weightsValue struct{ p *map[string]float64 }

func (v weightsValue) set(text string) error {
	weights := map[string]float64{}
	for pair := range strings.SplitSeq(text, ",") {
		name, number, found := strings.Cut(pair, "=")
		name, number = strings.TrimSpace(name), strings.TrimSpace(number)
		switch {
		case !found:
			return must(v)
		case !namespaceName.MatchString(name):
			return ruleError(fmt.Sprintf("must name Kubernetes namespaces (a-z, 0-9 and -), %s is none", quote(name)))
		}
		w, ok := weight(number)
		if !ok {
			return ruleError(fmt.Sprintf("must give each namespace a weight %v..%v, %s has %s", minWeight, maxWeight, name, quote(number)))
		}
		if _, twice := weights[name]; twice {
			return ruleError(fmt.Sprintf("must name each namespace once, %q comes twice", name))
		}
		weights[name] = w
	}
	*v.p = weights
	return nil
}

func (v weightsValue) String() string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(*v.p)) {
		pairs = append(pairs, name+"="+strconv.FormatFloat((*v.p)[name], 'f', -1, 64))
	}
	return strings.Join(pairs, ",")
}
func (v weightsValue) kind() string { return "list" }
func (v weightsValue) rule() string {
	return fmt.Sprintf("namespace=weight pairs such as prod=3,dev=0.5 with weights %v..%v", minWeight, maxWeight)
}

// namespaceName is what Kubernetes lets a namespace be called.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// decimal is a number as people write it: no exponent, no sign, no infinity.
var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

func weight(text string) (float64, bool) {
	w, err := strconv.ParseFloat(text, 64)
	return w, err == nil && decimal.MatchString(text) && w >= minWeight && w <= maxWeight
}
