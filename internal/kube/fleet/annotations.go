package fleet

import (
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
	numberRule   = "must be a number from 0 to 1000000000"
	boolRule     = `must be "true" or "false"`
	spanRule     = `must be a duration that is not negative, such as "30s" or "24h", or "Never"`
	timeRule     = `must be a time in RFC 3339, such as "2027-01-31T00:00:00Z"`
	classRule    = "must be of up to 63 letters, digits, '-', '_' and '.', and begin and end with a letter or digit"
)

// notes are the annotations of an object, and what was wrong with them.
type notes struct {
	of     map[string]string
	faults []string
}

// text is the value of one of our annotations.
func (n *notes) text(name string) (string, bool) {
	text, ok := n.of[prefix+name]
	return strings.TrimSpace(text), ok
}

func (n *notes) fault(name, rule string) {
	value := ironic.Line(n.of[prefix+name], maxValue)
	n.faults = append(n.faults, fmt.Sprintf("annotation %s%s=%q %s", prefix, name, value, rule))
}

// flag is a yes or no. otherwise is what counts where it cannot be read.
func (n *notes) flag(name string, otherwise bool) bool {
	text, ok := n.text(name)
	switch {
	case !ok:
		return false
	case text == "true" || text == "false":
		return text == "true"
	}
	n.fault(name, boolRule)
	return otherwise
}

// number is nil where it is not known.
func (n *notes) number(name string) *float64 {
	text, ok := n.text(name)
	if !ok {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= maxNumber) { // NaN compares false
		n.fault(name, numberRule)
		return nil
	}
	return &v
}

func (n *notes) time(name string) *time.Time {
	text, ok := n.text(name)
	if !ok {
		return nil
	}
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		n.fault(name, timeRule)
		return nil
	}
	v = v.UTC()
	return &v
}

func (n *notes) class() string {
	text, ok := n.text("class")
	if !ok {
		return ""
	}
	if text == "" || len(validation.IsValidLabelValue(text)) > 0 {
		n.fault("class", classRule)
		return ""
	}
	return text
}

func (n *notes) price() disruption.Price {
	return disruption.Price{
		WattsBusy: n.number("watts-busy"), WattsIdle: n.number("watts-idle"), LeasePerHour: n.number("lease-per-hour"),
		LeaseEnds: n.time("lease-ends"), Prepaid: n.flag("prepaid", false),
	}
}

func (n *notes) policy() (p disruption.PoolPolicy) {
	if text, ok := n.text("consolidate-after"); ok {
		if v, err := span(text); err != nil {
			n.fault("consolidate-after", spanRule)
		} else {
			p.ConsolidateAfter = &v
		}
	}
	if text, ok := n.text("budgets"); ok {
		list, err := budget.Parse(text)
		if err != nil {
			n.fault("budgets", err.Error())
		}
		p.Budgets = list
	}
	return p
}

func span(text string) (disruption.Span, error) {
	if text == "Never" {
		return disruption.Never, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = errors.New("negative")
	}
	return disruption.Span(d), err
}
