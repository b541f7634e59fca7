package fleet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// prefix begins the names of our annotations.
const prefix = "ironic-throttle.metal3.io/"

const (
	commandLabel = prefix + "command"         // package execute carries out planned work on the object
	stoppedMark  = prefix + "execute-stopped" // it carries out no more until somebody removes this
	maxValue     = 100                        // bytes of a value that a fault shows
	maxNumber    = 1e9
)

var (
	errNumber = fmt.Errorf("must be a number from 0 to %d", int(maxNumber))
	errFlag   = errors.New(`must be "true" or "false"`)
	errSpan   = errors.New(`must be a duration that is not negative, such as "30s" or "24h", or "Never"`)
)

func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	return v, unless(err == nil && v >= 0 && v <= maxNumber, errNumber)
}

func flag(text string) (bool, error) {
	return text == "true", unless(text == "true" || text == "false", errFlag)
}

func span(text string) (d disruption.Span, err error) {
	return d, unless(d.UnmarshalText([]byte(text)) == nil, errSpan)
}

func unless(good bool, err error) error {
	if good {
		return nil
	}
	return err
}

// notes are the annotations of an object, and what was wrong with them.
type notes struct {
	annotations map[string]string
	faults      []string
}

// value reads one of our annotations; nil: it is not there, or breaks its rule, which is a fault.
func value[T any](n *notes, name string, parse func(string) (T, error)) *T {
	text, there := n.annotations[prefix+name]
	if !there {
		return nil
	}
	v, err := parse(strings.TrimSpace(text))
	if err != nil {
		n.faults = append(n.faults, fmt.Sprintf("annotation %s%s=%q %v", prefix, name, ironic.Line(text, maxValue), err))
		return nil
	}
	return &v
}

func isTrue(b *bool) bool { return b != nil && *b }
