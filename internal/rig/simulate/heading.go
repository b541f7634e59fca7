package simulate

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

// heading says above a picture what was played, so that it can be played again.
func (g *Grid) heading(version string, results []Result) []string {
	line := "ironic-throttle-lab " + cmp.Or(version, "dev") + " simulate " + g.commandLine()
	first := results[0]
	curves := fmt.Sprintf("Curves over time: seed %d.", first.Seed)
	if n := len(valuesOf(results, func(r Result) uint64 { return r.Seed })); n > 1 {
		curves += fmt.Sprintf(" All else: the mean of %d seeds.", n)
	}
	return []string{line, fmt.Sprintf("%s %s", g.site(first.Hosts), curves)}
}

// site tells what was played, the defaults too.
func (g *Grid) site(hosts int) string {
	boots := fmt.Sprintf("a network that boots %d at once", g.BootCapacity)
	switch g.BootCapacity {
	case 0:
		boots = "a network made for the limit"
	case NoBootLimit:
		boots = "a network that boots any number at once"
	}
	if g.BootModel == fakeironic.BootShared {
		boots += ", shared smoothly"
	}
	if c := g.BootChange; c != (BootChange{}) {
		boots += ", " + c.words()
	}
	troubles := "no trouble"
	if len(g.Troubles) > 0 {
		var all []string
		for _, t := range g.Troubles {
			all = append(all, t.String())
		}
		troubles = "trouble " + shortList(all)
	}
	return fmt.Sprintf("%d hosts, %d tenants, %.4g %% of the hosts broken, via %s, %d workers, %s, %s.",
		hosts, g.tenantCount(), 100*g.Failing, g.Via, g.Workers, boots, troubles)
}

// unshown are flags that change no storm.
var unshown = map[string]bool{"plot": true, "speed": true, "keep": true}

// commandLine gives the flags that make these storms again, those with their
// default value left out.
func (g *Grid) commandLine() string {
	flags := func(g Grid) *pflag.FlagSet {
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		fs.SortFlags = false
		g.Flags(fs)
		return fs
	}
	usual := flags(DefaultGrid())
	var out []string
	flags(*g).VisitAll(func(f *pflag.Flag) {
		value := strings.Trim(f.DefValue, "[]")
		if !unshown[f.Name] && f.DefValue != usual.Lookup(f.Name).DefValue {
			out = append(out, "--"+f.Name+"="+value)
		}
	})
	return strings.Join(out, " ")
}
