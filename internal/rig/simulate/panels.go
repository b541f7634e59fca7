package simulate

import (
	"fmt"
	"image/color"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/svg"
)

// Colours that people who see few colours tell apart too (Okabe and Ito; wine of Tol), by Result.who.
var colours = map[string]color.RGBA{
	string(measure.PolicyThrottle): {0, 114, 178, 255},
	string(measure.PolicyBMO):      {213, 94, 0, 255},
	adaptiveName:                   {136, 34, 85, 255},
}

var black = color.RGBA{30, 30, 30, 255}

// panels draws the slots over time for each limit, the waits, and with several
// limits the makespan against them; growing: each limit has its own network.
func panels(results []Result, growing bool) [][]*svg.Plot {
	var rows [][]*svg.Plot
	limits := valuesOf(results, func(r Result) int { return r.Limit })
	seed := results[0].Seed
	for _, limit := range limits {
		own := filter(results, func(r Result) bool { return r.Limit == limit && r.Seed == seed })
		rows = append(rows, []*svg.Plot{overTime(limit, own)})
		if slices.ContainsFunc(own, func(r Result) bool { return r.adaptive() || r.trace.site.asked }) {
			rows = append(rows, []*svg.Plot{bootsOverTime(limit, own)})
		}
	}
	first := filter(results, func(r Result) bool { return r.Limit == limits[0] })
	rows = append(rows, []*svg.Plot{
		waitBars(fmt.Sprintf("Mean wait by tenant, limit %d", limits[0]), "tenant", first, func(w waited) int { return w.tenant + 1 }),
		waitBars(fmt.Sprintf("Mean wait by errors, limit %d", limits[0]), "errors of the host so far: hosts gather errors\nlate in a storm, when the queue is shorter", first,
			func(w waited) int { return w.errors }),
	})
	if len(limits) > 1 {
		p := makespans(results)
		if growing {
			p.Title += "\n" + ownNetwork
		}
		rows = append(rows, []*svg.Plot{p})
	}
	return rows
}

// overTime draws what worked and what was occupied.
func overTime(limit int, results []Result) *svg.Plot {
	p := &svg.Plot{
		Title:  fmt.Sprintf("Slots in use over time, limit %d, seed %d (%d hosts, via %s)", limit, results[0].Seed, results[0].Hosts, results[0].Via),
		XLabel: "hours since the begin of the storm", YLabel: "hosts",
	}
	end, high := ends(results), float64(limit)
	name := fmt.Sprintf("limit %d", limit)
	for _, r := range results {
		high = max(high, float64(r.PeakWorking))
		if r.adaptive() {
			name = fmt.Sprintf("limit %d, the ceiling of %s", limit, limitAdaptive)
		}
	}
	if high > 4*float64(limit) { // else the limit would be lost at the bottom
		p.LogY, p.YLabel = true, "hosts (logarithmic)"
	}
	for _, r := range results {
		c, who := r.trace.lines(end), r.who()
		if len(c.working) == 0 {
			continue
		}
		p.Lines = append(p.Lines, svg.Line{Name: who + ": really working", Colour: colours[who], Points: c.working})
		if r.Policy == measure.PolicyThrottle {
			p.Lines = append(p.Lines, svg.Line{Name: who + ": occupied", Colour: colours[who], Stroke: svg.Dotted, Points: c.occupied})
		}
		if r.adaptive() {
			p.Lines = append(p.Lines, svg.Line{Name: who + ": limit in force", Colour: colours[who], Stroke: svg.Dashed, Points: c.limit})
		}
	}
	at := float64(limit)
	p.Lines = append(p.Lines, svg.Line{
		Name: name, Colour: black, Stroke: svg.Dashed, Points: []svg.Point{{X: 0, Y: at}, {X: max(end, 0.01), Y: at}},
	})
	return p
}

// ends is when the last of the storms was over, in hours.
func ends(results []Result) (end float64) {
	for _, r := range results {
		if s := r.trace.series; len(s) > 0 {
			end = max(end, hours(s[len(s)-1].at-r.trace.begun))
		}
	}
	return end
}

// bootsOverTime draws how many hosts boot at once, and how many boots were lost so far.
func bootsOverTime(limit int, results []Result) *svg.Plot {
	p := &svg.Plot{
		Title:  fmt.Sprintf("Boots over time, limit %d, seed %d", limit, results[0].Seed),
		XLabel: "hours since the begin of the storm", YLabel: "boots",
	}
	end := ends(results)
	boots, lost := 1.0, 0.0
	for _, r := range results {
		c, who := r.trace.lines(end), r.who()
		if len(c.booting) == 0 {
			continue
		}
		p.Lines = append(p.Lines,
			svg.Line{Name: who + ": hosts that boot at once", Colour: colours[who], Points: c.booting},
			svg.Line{Name: who + ": boots lost so far", Colour: colours[who], Stroke: svg.Dotted, Points: c.lost},
		)
		for i := range c.booting {
			boots, lost = max(boots, c.booting[i].Y), max(lost, c.lost[i].Y)
		}
	}
	if at := results[0].trace.site.line(max(end, 0.01)); at != nil {
		p.Lines = append(p.Lines, svg.Line{Name: "boot capacity of the network", Colour: black, Stroke: svg.Dashed, Points: at})
		boots = max(boots, at[0].Y)
	}
	if lost > 4*boots { // else the boots would be lost at the bottom
		p.LogY, p.YLabel = true, "boots (logarithmic)"
	}
	return p
}

// maxGroups bounds the groups of bars.
const maxGroups = 12

// waitBars draws the mean wait of each group, a bar for whoever decided.
func waitBars(title, x string, results []Result, group func(waited) int) *svg.Plot {
	p := &svg.Plot{Title: title, XLabel: x, YLabel: "hours"}
	deciders := valuesOf(results, func(r Result) string { return r.who() })
	var groups []int
	sums := map[string]map[int][2]float64{}
	for _, r := range results {
		who := r.who()
		if sums[who] == nil {
			sums[who] = map[int][2]float64{}
		}
		for _, w := range r.trace.waits {
			k := group(w)
			s, ok := sums[who][k]
			if !ok && !slices.Contains(groups, k) {
				groups = append(groups, k)
			}
			sums[who][k] = [2]float64{s[0] + w.lasted.Hours(), s[1] + 1}
		}
	}
	slices.Sort(groups)
	if len(groups) > maxGroups {
		p.Title += fmt.Sprintf(" (the first %d of %d)", maxGroups, len(groups))
		groups = groups[:maxGroups]
	}
	if len(groups) == 0 {
		return p
	}
	for _, k := range groups {
		p.Groups = append(p.Groups, fmt.Sprint(k))
	}
	for _, who := range deciders {
		bars := svg.Bars{Name: who, Colour: colours[who]}
		for _, k := range groups {
			s := sums[who][k]
			bars.Values = append(bars.Values, s[0]/max(1, s[1]))
		}
		p.Bars = append(p.Bars, bars)
	}
	return p
}

// valuesOf lists what occurs, in the order of its first occurrence.
func valuesOf[T comparable](results []Result, of func(Result) T) []T {
	var out []T
	for _, r := range results {
		if v := of(r); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func filter(results []Result, keep func(Result) bool) []Result {
	var out []Result
	for _, r := range results {
		if keep(r) {
			out = append(out, r)
		}
	}
	return out
}
