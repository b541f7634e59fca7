package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/ironic-throttle/ironic-throttle/internal/measure"
)

// makespans draws the time until the last host was through against the limit: the
// mean of all seeds. Points of storms that were not finished are left out.
func makespans(results []Result) (*plot.Plot, error) {
	p := newPlot("Makespan against limit", "limit", "hours until all are through")
	var missing []string // points of storms that did not end
	policies := valuesOf(results, func(r Result) measure.Policy { return r.Policy })
	for _, policy := range policies {
		own := filter(results, func(r Result) bool { return r.Policy == policy })
		var at plotter.XYs
		for _, limit := range valuesOf(own, func(r Result) int { return r.Limit }) {
			if slices.ContainsFunc(own, func(r Result) bool { return r.Limit == limit && !r.Finished }) {
				missing = append(missing, fmt.Sprintf("%s %d", policy, limit))
				continue
			}
			sum, n := 0.0, 0.0
			for _, r := range own {
				if r.Limit == limit {
					sum, n = sum+r.MakespanSeconds/3600, n+1
				}
			}
			at = append(at, plotter.XY{X: float64(limit), Y: sum / n})
		}
		if len(at) == 0 {
			continue
		}
		slices.SortFunc(at, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		line, points, err := plotter.NewLinePoints(at)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width, points.Color = colours[policy], vg.Points(1.5), colours[policy]
		p.Add(line, points)
		p.Legend.Add(string(policy), line, points)
	}
	if len(missing) > 0 {
		p.Title.Text += "\nnot finished, left out: " + shortList(missing)
	}
	p.Y.Min = 0
	p.Y.Max *= placeLegend(p, panelWidth, texts(policies))
	return p, nil
}

// shortList names the first of all, and how many more there are.
func shortList(all []string) string {
	const shown = 6
	if len(all) <= shown {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:shown], ", "), len(all)-shown)
}
