package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// prefix begins the names of our annotations.
const prefix = "ironic-throttle.metal3.io/"

const (
	commandLabel = prefix + "command"         // planned work is being carried out
	stoppedMark  = prefix + "execute-stopped" // no more of it until somebody removes this
	maxValue     = 100                        // bytes of a value that a fault shows
	maxNumber    = 1e9
)

// rule is what a value must be, and how it is read.
type rule[T any] struct {
	must  string // "": the error says it
	parse func(text string) (T, error)
}

var errBad = errors.New("no such value")

// unless is no error where a value is good.
func unless(good bool) error {
	if good {
		return nil
	}
	return errBad
}

var (
	number = rule[float64]{"must be a number from 0 to 1000000000", func(text string) (float64, error) {
		v, err := strconv.ParseFloat(text, 64)
		return v, cmp.Or(err, unless(v >= 0 && v <= maxNumber))
	}}
	flag = rule[bool]{`must be "true" or "false"`, func(text string) (bool, error) {
		return text == "true", unless(text == "true" || text == "false")
	}}
	span = rule[disruption.Span]{
		`must be a duration that is not negative, such as "30s" or "24h", or "Never"`, func(text string) (disruption.Span, error) {
			if text == "Never" {
				return disruption.Never, nil
			}
			d, err := time.ParseDuration(text)
			return disruption.Span(d), cmp.Or(err, unless(d >= 0))
		},
	}
	moment = rule[time.Time]{`must be a time in RFC 3339, such as "2027-01-31T00:00:00Z"`, func(text string) (time.Time, error) {
		v, err := time.Parse(time.RFC3339, text)
		return v.UTC(), err
	}}
	word = rule[string]{
		"must be of up to 63 letters, digits, '-', '_' and '.', and begin and end with a letter or digit",
		func(text string) (string, error) {
			return text, unless(text != "" && len(validation.IsValidLabelValue(text)) == 0)
		},
	}
	budgets = rule[budget.List]{parse: budget.Parse}
)

// notes are the annotations of an object, and what was wrong with them.
type notes struct {
	of     map[string]string
	faults []string
}

// value reads one of our annotations; nil: it is not there, or breaks its rule, which is a fault.
func value[T any](n *notes, name string, of rule[T]) *T {
	text, there := n.of[prefix+name]
	if !there {
		return nil
	}
	v, err := of.parse(strings.TrimSpace(text))
	if err == nil {
		return &v
	}
	must := of.must
	if must == "" {
		must = err.Error()
	}
	n.faults = append(n.faults, fmt.Sprintf("annotation %s%s=%q %s", prefix, name, ironic.Line(text, maxValue), must))
	return nil
}

// valueOr reads one of our annotations. What cannot be read is as bad says, and what is not there is the zero value.
func valueOr[T any](n *notes, name string, of rule[T], bad T) (v T) {
	if read := value(n, name, of); read != nil {
		return *read
	}
	if has(n.of, prefix+name) {
		return bad
	}
	return v
}

func (n *notes) price() disruption.Price {
	return disruption.Price{
		WattsBusy: value(n, "watts-busy", number), WattsIdle: value(n, "watts-idle", number),
		LeasePerHour: value(n, "lease-per-hour", number), LeaseEnds: value(n, "lease-ends", moment),
		Prepaid: valueOr(n, "prepaid", flag, false),
	}
}

func (n *notes) policy() disruption.PoolPolicy {
	return disruption.PoolPolicy{
		ConsolidateAfter: value(n, "consolidate-after", span), Budgets: valueOr(n, "budgets", budgets, nil),
	}
}
