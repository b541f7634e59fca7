package simulate

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/ironic-throttle/ironic-throttle/internal/measure"
)

// Colours that people who see few colours tell apart too (Okabe and Ito).
var colours = map[measure.Policy]color.Color{
	measure.PolicyThrottle: color.RGBA{0, 114, 178, 255},
	measure.PolicyBMO:      color.RGBA{213, 94, 0, 255},
	measure.PolicyProposal: color.RGBA{204, 121, 167, 255},
	measure.PolicyFIFO:     color.RGBA{0, 158, 115, 255},
}

var (
	black = color.RGBA{30, 30, 30, 255}
	pale  = color.RGBA{225, 225, 225, 255}
	dash  = []vg.Length{vg.Points(6), vg.Points(3)}
	dots  = []vg.Length{vg.Points(1.5), vg.Points(2)}
)

// panels draws the slots over time for each limit, the waits, and with several
// limits the makespan against them; growing: each limit has its own network.
func panels(results []Result, growing bool) ([][]*plot.Plot, error) {
	var rows [][]*plot.Plot
	limits := valuesOf(results, func(r Result) int { return r.Limit })
	seed := results[0].Seed
	for _, limit := range limits {
		p, err := overTime(limit, filter(results, func(r Result) bool { return r.Limit == limit && r.Seed == seed }))
		if err != nil {
			return nil, err
		}
		rows = append(rows, []*plot.Plot{p})
	}
	first := filter(results, func(r Result) bool { return r.Limit == limits[0] })
	tenants, err := waitBars(fmt.Sprintf("Mean wait by tenant, limit %d", limits[0]), "tenant", first,
		func(w waited) int { return w.tenant + 1 })
	if err != nil {
		return nil, err
	}
	errors, err := waitBars(fmt.Sprintf("Mean wait by errors, limit %d", limits[0]), "errors of the host so far: hosts gather errors\nlate in a storm, when the queue is shorter", first,
		func(w waited) int { return w.errors })
	if err != nil {
		return nil, err
	}
	rows = append(rows, []*plot.Plot{tenants, errors})
	if len(limits) > 1 {
		p, err := makespans(results)
		if err != nil {
			return nil, err
		}
		if growing {
			p.Title.Text += "\n" + ownNetwork
		}
		rows = append(rows, []*plot.Plot{p})
	}
	return rows, nil
}

// overTime draws what worked and what was occupied.
func overTime(limit int, results []Result) (*plot.Plot, error) {
	p := newPlot(fmt.Sprintf("Slots in use over time, limit %d, seed %d (%d hosts, via %s)", limit, results[0].Seed, results[0].Hosts, results[0].Via), "hours since the begin of the storm", "hosts")
	end, high := 0.0, float64(limit)
	for _, r := range results {
		if s := r.trace.series; len(s) > 0 {
			end = max(end, hours(s[len(s)-1].at-r.trace.begun))
		}
		high = max(high, float64(r.PeakWorking))
	}
	y := linear
	if high > 4*float64(limit) { // else the limit would be lost at the bottom
		y = logarithmic
		p.Y.Tick.Marker, p.Y.Label.Text = plot.TickerFunc(decades), "hosts (logarithmic)"
	}
	names := []string{fmt.Sprintf("limit %d", limit)}
	for _, r := range results {
		names = append(names, string(r.Policy)+": really working")
		truth, taken := r.trace.lines(end, y)
		if err := addLine(p, truth, colours[r.Policy], nil, string(r.Policy)+": really working"); err != nil {
			return nil, err
		}
		if r.Policy == measure.PolicyThrottle || r.Policy == measure.PolicyFIFO {
			names = append(names, string(r.Policy)+": occupied")
			if err := addLine(p, taken, colours[r.Policy], dots, string(r.Policy)+": occupied"); err != nil {
				return nil, err
			}
		}
	}
	at := y(float64(limit))
	err := addLine(p, plotter.XYs{{X: 0, Y: at}, {X: end, Y: at}}, black, dash, names[0])
	p.X.Min, p.X.Max = 0, max(end, 0.01)
	p.Y.Min, p.Y.Max = y(0), y(0)+(y(high)-y(0))*placeLegend(p, panelWidth, names)
	return p, err
}

func linear(v float64) float64 { return v }

// logarithmic draws 0 a little below 1.
func logarithmic(v float64) float64 { return math.Log10(max(v, 0.8)) }

// decades are the ticks of a logarithmic axis, none outside of it.
func decades(low, high float64) []plot.Tick {
	var out []plot.Tick
	for ten := 1; logarithmic(float64(ten)) <= high; ten *= 10 {
		for i := 1; i < 10; i++ {
			label := ""
			if i == 1 {
				label = strconv.Itoa(ten)
			}
			if v := logarithmic(float64(i * ten)); v >= low && v <= high {
				out = append(out, plot.Tick{Value: v, Label: label})
			}
		}
	}
	return out
}

// bins is how many points a line over time has.
const bins = 700

// lines makes of the series the highest and the mean of each bin: a peak is never
// lost.
func (t *trace) lines(end float64, y func(float64) float64) (truth, taken plotter.XYs) {
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
		truth = append(truth, plotter.XY{X: x, Y: y(float64(high))})
		taken = append(taken, plotter.XY{X: x, Y: y(float64(sum) / float64(n))})
	}
	return truth, taken
}

func hours(nanos int64) float64 { return time.Duration(nanos).Hours() }

func addLine(p *plot.Plot, at plotter.XYs, c color.Color, dashes []vg.Length, name string) error {
	if len(at) == 0 {
		return nil
	}
	l, err := plotter.NewLine(at)
	if err != nil {
		return err
	}
	l.Color, l.Width, l.Dashes = c, vg.Points(1.3), dashes
	p.Add(l)
	p.Legend.Add(name, l)
	return nil
}

// maxGroups bounds the groups of bars.
const maxGroups = 12

// waitBars draws the mean wait of each group, a bar for each policy.
func waitBars(title, x string, results []Result, group func(waited) int) (*plot.Plot, error) {
	p := newPlot(title, x, "hours")
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
		p.Title.Text += fmt.Sprintf(" (the first %d of %d)", maxGroups, len(groups))
		groups = groups[:maxGroups]
	}
	p.Y.Min = 0
	if len(groups) == 0 {
		return p, nil
	}
	wide := vg.Points(150 / float64(len(groups)*len(policies)))
	for i, policy := range policies {
		var means plotter.Values
		for _, k := range groups {
			s := sums[policy][k]
			means = append(means, s[0]/max(1, s[1]))
		}
		bars, err := plotter.NewBarChart(means, wide)
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width = colours[policy], 0
		bars.Offset = wide * vg.Length(float64(i)-float64(len(policies)-1)/2)
		p.Add(bars)
		p.Legend.Add(string(policy), bars)
	}
	names := make([]string, len(groups))
	for i, k := range groups {
		names[i] = fmt.Sprint(k)
	}
	p.NominalX(names...)
	p.Y.Max *= placeLegend(p, half, texts(policies))
	return p, nil
}

func texts(policies []measure.Policy) []string {
	out := make([]string, len(policies))
	for i, p := range policies {
		out[i] = string(p)
	}
	return out
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
