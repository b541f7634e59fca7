package stress

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

// Write prints a table for each storm, all policies side by side, and then the
// bounds.
func (p Plan) Write(out io.Writer, cases []Case, findings []Finding) error {
	for _, s := range p.Storms {
		if err := p.writeStorm(out, s, cases); err != nil {
			return err
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "storm\tvia\tbound for the throttle\tworst or mean\tmust be\tseeds\t")
	for _, f := range findings {
		verdict, sign := "kept", "<="
		if f.Least {
			sign = ">="
		}
		if !f.Kept {
			verdict = "BROKEN"
			if f.Seed > 0 {
				verdict = fmt.Sprintf("BROKEN by seed %d", f.Seed)
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s %s\t%d\t%s\n", f.Storm, f.Via, f.Bound, short(f.Worst), sign, short(f.Limit), f.Seeds, verdict)
	}
	return w.Flush()
}

// short writes whole numbers whole, others with four digits.
func short(v float64) string { return fmt.Sprintf("%.4g", measure.Round(v)) }

// line is a row of a storm's table: over all seeds, mean or worst.
type line struct {
	name  string
	of    func(simulate.Result) float64
	show  func(float64) string
	worst func(a, b float64) float64 // nil: the mean
	pools bool                       // only where conductor groups have limits
}

func higher(a, b float64) float64 { return max(a, b) }
func lower(a, b float64) float64  { return min(a, b) }
func percent(v float64) string    { return fmt.Sprintf("%.1f %%", 100*v) }
func whole(v float64) string      { return fmt.Sprintf("%.0f", v) }

var lines = []line{
	{"hosts that really work, peak", func(r simulate.Result) float64 { return float64(r.PeakWorking) }, whole, higher, false},
	{"slots occupied, least", func(r simulate.Result) float64 { return r.SlotUse }, percent, lower, false},
	{"slots really working, least", func(r simulate.Result) float64 { return r.TruthUse }, percent, lower, false},
	{"makespan, mean", makespan, measure.Duration, nil, false},
	{"makespan of healthy hosts, mean", healthy, measure.Duration, nil, false},
	{"wait, mean", func(r simulate.Result) float64 { return r.MeanWaitSeconds }, measure.Duration, nil, false},
	{"wait, longest", func(r simulate.Result) float64 { return r.LongestWaitSeconds }, measure.Duration, higher, false},
	{"wait in a slow pool, longest", func(r simulate.Result) float64 { return r.WaitsByPool[slowRack].LongestSeconds }, measure.Duration, higher, true},
	{"Jain's index over tenants, least", func(r simulate.Result) float64 { return r.JainTenants }, func(v float64) string { return fmt.Sprintf("%.3f", v) }, lower, false},
	{"grants of two tenants apart, most", func(r simulate.Result) float64 { return float64(r.GrantSpread) }, whole, higher, false},
	{"failing hosts at once, most", func(r simulate.Result) float64 { return float64(r.FailingPeak) }, whole, higher, false},
	{"lists asked of Ironic, mean", func(r simulate.Result) float64 { return float64(r.IronicListRequests) }, whole, nil, false},
}

func (p Plan) writeStorm(out io.Writer, s Storm, cases []Case) error {
	fmt.Fprintf(out, "%s: %s\n", s.Name, s.Title)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	var columns [][]simulate.Result
	fmt.Fprint(w, "\t")
	for _, way := range ways {
		var own []simulate.Result
		for _, c := range cases {
			if c.Storm == s.Name && c.Result.Policy == way.policy && c.Result.Via == way.via {
				own = append(own, c.Result)
			}
		}
		if len(own) > 0 {
			columns = append(columns, own)
			fmt.Fprintf(w, "%s, %s\t", way.policy, way.via)
		}
	}
	fmt.Fprint(w, "\nseeds\t")
	for _, own := range columns {
		fmt.Fprintf(w, "%d\t", len(own))
	}
	fmt.Fprintln(w)
	for _, l := range lines {
		if l.pools && s.Options.PoolLimits == nil {
			continue
		}
		fmt.Fprintf(w, "%s\t", l.name)
		for _, own := range columns {
			fmt.Fprintf(w, "%s\t", l.show(l.over(own)))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

func (l line) over(results []simulate.Result) float64 {
	sum := 0.0
	for i, r := range results {
		v := l.of(r)
		switch {
		case l.worst == nil:
			sum += v
		case i == 0:
			sum = v
		default:
			sum = l.worst(sum, v)
		}
	}
	if l.worst == nil {
		return sum / float64(len(results))
	}
	return sum
}
