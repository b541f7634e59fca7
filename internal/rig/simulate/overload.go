package simulate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// BootChange is a site whose BootCapacity becomes another one in the middle of the storm, At
// after its begin. The zero value is none.
type BootChange struct {
	Capacity int
	At       time.Duration
}

// overload is what boots share where so many can boot at full speed.
func (o *Options) overload(capacity int) fakeironic.Overload {
	switch {
	case capacity < 0:
		return fakeironic.Overload{Model: o.BootModel}
	case o.BootModel == fakeironic.BootShared && capacity == 0:
		capacity = (4*o.Limit + 4) / 5
		fallthrough
	case o.BootModel == fakeironic.BootShared:
		return fakeironic.Overload{Model: o.BootModel, BootCapacity: capacity}
	case capacity == 0:
		return fakeironic.Overload{BootCapacity: (4*o.Limit + 4) / 5, CollapseAbove: o.Limit, CollapseChance: 0.7}
	}
	return fakeironic.Overload{BootCapacity: capacity, CollapseAbove: (5*capacity + 3) / 4, CollapseChance: 0.7}
}

// overloadFaults tells what is wrong with what boots share, each with its flag, its value and the rule.
func (o *Options) overloadFaults() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.BootCapacity < NoBootLimit || o.BootCapacity > maxHosts {
		bad("--boot-capacity %d: must be -1 to %d", o.BootCapacity, maxHosts)
	}
	if known := []fakeironic.BootModel{fakeironic.BootCliff, fakeironic.BootShared}; o.BootModel != known[0] && o.BootModel != known[1] {
		bad("--boot-model %q: must be cliff or shared%s", o.BootModel, didYouMean(o.BootModel, known))
	}
	switch c := o.BootChange; {
	case c == BootChange{}:
	case c.Capacity < NoBootLimit || c.Capacity == 0 || c.Capacity > maxHosts:
		bad("--boot-change %s: the capacity must be -1, or 1 to %d", c, maxHosts)
	case c.At < 0 || c.At > longestTrouble:
		bad("--boot-change %s: the time must be 0s to 10000h", c)
	}
	return errs
}

// String writes a change as Set reads it.
func (c BootChange) String() string {
	if c == (BootChange{}) {
		return ""
	}
	return fmt.Sprintf("%d@%v", c.Capacity, c.At)
}

// Set implements pflag.Value.
func (c *BootChange) Set(text string) error {
	capacity, at, ok := strings.Cut(text, "@")
	n, err := strconv.Atoi(capacity)
	d, err2 := time.ParseDuration(at)
	switch {
	case !ok || errors.Join(err, err2) != nil:
		return errors.New("must be CAPACITY@TIME, such as 12@1h")
	case n == 0:
		return errors.New("the capacity must be -1, or 1 and more")
	}
	*c = BootChange{Capacity: n, At: d}
	return nil
}

// Type implements pflag.Value.
func (c *BootChange) Type() string { return "change" }
