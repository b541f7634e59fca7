package simulate

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/svg"
)

// Colours that people who see few colours tell apart too (Okabe and Ito).
var colours = map[measure.Policy]color.RGBA{
	measure.PolicyThrottle: {0, 114, 178, 255},
	measure.PolicyBMO:      {213, 94, 0, 255},
	measure.PolicyProposal: {204, 121, 167, 255},
	measure.PolicyFIFO:     {0, 158, 115, 255},
}

var black = color.RGBA{30, 30, 30, 255}

// panels draws the slots over time for each limit, the waits, and with several
// limits the makespan against them; growing: each limit has its own network.
func panels(results []Result, growing bool) [][]*svg.Plot {
	var rows [][]*svg.Plot
	limits := valuesOf(results, func(r Result) int { return r.Limit })
	seed := results[0].Seed
	for _, limit := range limits {
		rows = append(rows, []*svg.Plot{overTime(limit, filter(results, func(r Result) bool { return r.Limit == limit && r.Seed == seed }))})
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
	end, high := 0.0, float64(limit)
	for _, r := range results {
		if s := r.trace.series; len(s) > 0 {
			end = max(end, hours(s[len(s)-1].at-r.trace.begun))
		}
		high = max(high, float64(r.PeakWorking))
	}
	if high > 4*float64(limit) { // else the limit would be lost at the bottom
		p.LogY, p.YLabel = true, "hosts (logarithmic)"
	}
	for _, r := range results {
		truth, taken := r.trace.lines(end)
		if len(truth) == 0 {
			continue
		}
		p.Lines = append(p.Lines, svg.Line{Name: string(r.Policy) + ": really working", Colour: colours[r.Policy], Points: truth})
		if r.Policy == measure.PolicyThrottle || r.Policy == measure.PolicyFIFO {
			p.Lines = append(p.Lines, svg.Line{Name: string(r.Policy) + ": occupied", Colour: colours[r.Policy], Stroke: svg.Dotted, Points: taken})
		}
	}
	at := float64(limit)
	p.Lines = append(p.Lines, svg.Line{
		Name: fmt.Sprintf("limit %d", limit), Colour: black, Stroke: svg.Dashed,
		Points: []svg.Point{{X: 0, Y: at}, {X: max(end, 0.01), Y: at}},
	})
	return p
}

// bins is how many points a line over time has.
const bins = 700

// lines makes of the series the highest and the mean of each bin: a peak is never
// lost.
func (t *trace) lines(end float64) (truth, taken []svg.Point) {
	if len(t.series) == 0 || end == 0 {
		return nil, nil
	}
	width := end / bins
	for i := 0; i < len(t.series); {
		bin := math.Floor(hours(t.series[i].at-t.begun) / width)
		high, sum, n := 0, 0, 0
		for ; i < len(t.series) && math.Floor(hours(t.series[i].at-t.begun)/width) == bin; i++ {
			high = max(high, t.series[i].working)
			sum += t.series[i].occupied
			n++
		}
		x := bin * width
		truth = append(truth, svg.Point{X: x, Y: float64(high)})
		taken = append(taken, svg.Point{X: x, Y: float64(sum) / float64(n)})
	}
	return truth, taken
}

func hours(nanos int64) float64 { return time.Duration(nanos).Hours() }

// maxGroups bounds the groups of bars.
const maxGroups = 12

// waitBars draws the mean wait of each group, a bar for each policy.
func waitBars(title, x string, results []Result, group func(waited) int) *svg.Plot {
	p := &svg.Plot{Title: title, XLabel: x, YLabel: "hours"}
	policies := valuesOf(results, func(r Result) measure.Policy { return r.Policy })
	var groups []int
	sums := map[measure.Policy]map[int][2]float64{}
	for _, r := range results {
		if sums[r.Policy] == nil {
			sums[r.Policy] = map[int][2]float64{}
		}
		for _, w := range r.trace.waits {
			k := group(w)
			s, ok := sums[r.Policy][k]
			if !ok && !slices.Contains(groups, k) {
				groups = append(groups, k)
			}
			sums[r.Policy][k] = [2]float64{s[0] + w.lasted.Hours(), s[1] + 1}
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
	for _, policy := range policies {
		bars := svg.Bars{Name: string(policy), Colour: colours[policy]}
		for _, k := range groups {
			s := sums[policy][k]
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
