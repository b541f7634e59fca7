package simulate

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
)

// Bounds of the settings of the fair turn, as TENANT_WEIGHTS
// have them.
const (
	minWeight    = 0.01
	maxWeight    = 100
	maxThreshold = 9
)

// tenantName is the namespace of the tenant with this index.
func tenantName(i int) string { return fmt.Sprintf("tenant-%d", i+1) }

// weight is the share of the tenant with this index.
func (o *Options) weight(i int) float64 {
	if w, ok := o.Turns.Weights[tenantName(i)]; ok {
		return w
	}
	return 1
}

// turnFaults tells what is wrong with the settings of the fair turn, each with its
// flag, its value and the rule (F-2, F-4).
func (o *Options) turnFaults() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	t := o.Turns
	for _, name := range slices.Sorted(maps.Keys(t.Weights)) {
		number, ok := strings.CutPrefix(name, "tenant-")
		i, err := strconv.Atoi(number)
		if n := o.tenantCount(); !ok || err != nil || i < 1 || i > n || tenantName(i-1) != name {
			bad("--tenant-weights %s: there is no such tenant, they are %s", name, tenantNames(n))
		}
		if w := t.Weights[name]; !(w >= minWeight && w <= maxWeight) {
			bad("--tenant-weights %s=%v: must be a weight %v..%v", name, w, minWeight, maxWeight)
		}
	}
	if t.Threshold < 1 || t.Threshold > maxThreshold {
		bad("--failing-threshold %d: must be 1 to %d", t.Threshold, maxThreshold)
	}
	if o.Limit < 1 || o.Limit > maxHosts {
		return errs // said already
	}
	if t.Cap != fairshare.Auto && (t.Cap < 1 || t.Cap > o.Limit) {
		bad("--failing-cap %d: must be -1 (a quarter), or 1 to %d with --limit %d", t.Cap, o.Limit, o.Limit)
	}
	return errs
}

func (o *Options) tenantCount() int {
	if len(o.Sizes) > 0 {
		return len(o.Sizes)
	}
	return o.Tenants
}

// tenantNames names all n tenants.
func tenantNames(n int) string {
	const shown = 3
	if n > shown {
		return tenantName(0) + " to " + tenantName(n-1)
	}
	var names []string
	for i := range n {
		names = append(names, tenantName(i))
	}
	return strings.Join(names, ", ")
}

// turnsDiffer tells whether a setting of the fair turn is not the default.
func (o *Options) turnsDiffer() bool {
	d := admission.DefaultTurns()
	t := o.Turns
	return t.Threshold != d.Threshold || t.Cap != d.Cap || len(t.Weights) > 0
}

// weightsFlag is a list of tenant=weight pairs.
type weightsFlag struct{ p *map[string]float64 }

// decimal is a number as people write it: no exponent, no sign, no infinity.
var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// Set implements pflag.Value.
func (f weightsFlag) Set(text string) error {
	weights := map[string]float64{}
	for pair := range strings.SplitSeq(text, ",") {
		name, number, found := strings.Cut(pair, "=")
		name, number = strings.TrimSpace(name), strings.TrimSpace(number)
		if !found || name == "" {
			return errors.New("must be TENANT=WEIGHT pairs such as tenant-1=3,tenant-2=0.5")
		}
		w, err := strconv.ParseFloat(number, 64)
		if err != nil || !decimal.MatchString(number) || w < minWeight || w > maxWeight {
			return fmt.Errorf("must give each tenant a weight %v..%v, %s has %q", minWeight, maxWeight, name, number)
		}
		if _, twice := weights[name]; twice {
			return fmt.Errorf("must name each tenant once, %q comes twice", name)
		}
		weights[name] = w
	}
	*f.p = weights
	return nil
}

// String implements pflag.Value.
func (f weightsFlag) String() string {
	if f.p == nil {
		return ""
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(*f.p)) {
		pairs = append(pairs, name+"="+strconv.FormatFloat((*f.p)[name], 'f', -1, 64))
	}
	return strings.Join(pairs, ",")
}

// Type implements pflag.Value.
func (f weightsFlag) Type() string { return "weights" }
