package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// growing tells whether limits are compared that each have a network of their own.
func (g *Grid) growing() bool { return len(g.Limits) > 1 && g.BootCapacity == 0 }

// before are notes for stderr that need no result: what is asked for and will not
// say what its user may think.
func (g *Grid) before() []string {
	var out []string
	if g.growing() {
		out = append(out, "without --boot-capacity each limit has a network made for it, so a larger limit always looks better; "+
			"tell what yours can boot at once, such as --boot-capacity 30")
	}
	if g.turnsDiffer() && !slices.Contains(g.Policies, string(measure.PolicyThrottle)) {
		out = append(out, "--tenant-weights, --failing-threshold and --failing-cap are settings of the policy throttle: they change no decision here")
	}
	return out
}

// after are notes for stderr on troubles that never came.
func (g *Grid) after(results []Result) []string {
	var out []string
	for _, t := range g.Troubles {
		missed, first := 0, time.Duration(0)
		for _, r := range results {
			if r.played > t.At {
				continue
			}
			if missed++; missed == 1 || r.played < first {
				first = r.played
			}
		}
		if missed > 0 {
			out = append(out, fmt.Sprintf("--trouble %s: never came in %d of %d storms, of which the first was over after %v",
				t, missed, len(results), first.Round(time.Second)))
		}
	}
	return out
}
