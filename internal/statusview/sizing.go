package statusview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// sizingFields tell which limit is in force, which one the boots speak for, and how they went.
func sizingFields(s api.Sizing) []line {
	var out []line
	for _, text := range s.Lines() {
		out = append(out, line{field("limit", printable(text)), usual})
	}
	var boots []string
	for _, b := range bootsByState(s.Boots) {
		if b.Up.Count+b.Failed > 0 {
			boots = append(boots, bootsText(b))
		}
	}
	if len(boots) > 0 {
		out = append(out, line{field("boots", strings.Join(boots, "; ")), minor})
	}
	return out
}

// bootsByState sums up the conductor groups, in the order of the states.
func bootsByState(boots []api.BootTimes) []api.BootTimes {
	var all []api.BootTimes
	for _, b := range boots {
		i := slices.IndexFunc(all, func(sum api.BootTimes) bool { return sum.State == b.State })
		if i < 0 {
			b.Up.Buckets = slices.Clone(b.Up.Buckets)
			all = append(all, b)
			continue
		}
		sum := &all[i]
		sum.Failed += b.Failed
		sum.Up.Count += b.Up.Count
		for i := range min(len(sum.Up.Buckets), len(b.Up.Buckets)) {
			sum.Up.Buckets[i] += b.Up.Buckets[i]
		}
	}
	return all
}

func bootsText(b api.BootTimes) string {
	text := fmt.Sprintf("%s: %d", printable(b.State), b.Up.Count)
	if b.Up.Count > 0 {
		text += ", median " + medianText(b.Up)
	}
	if b.Failed > 0 {
		text += fmt.Sprintf(", %d failed without agent", b.Failed)
	}
	return text
}

// medianText says between which bounds of the buckets the median is.
func medianText(h api.Histogram) string {
	bounds := api.TimeBuckets()
	half := h.Count - h.Count/2
	i := slices.IndexFunc(h.Buckets, func(upTo uint64) bool { return upTo >= half })
	switch {
	case i == 0:
		return "up to " + shortly(bounds[0])
	case i < 0 || i >= len(bounds):
		return "more than " + shortly(bounds[len(bounds)-1])
	}
	return shortly(bounds[i-1]) + " to " + shortly(bounds[i])
}

// shortly is a bound as people say it: 90s, 4m, 2h.
func shortly(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%.0fh", d.Hours())
	case d > 90*time.Second:
		return fmt.Sprintf("%.0fm", d.Minutes())
	}
	return fmt.Sprintf("%.0fs", d.Seconds())
}
