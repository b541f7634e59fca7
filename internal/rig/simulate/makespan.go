package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/svg"
)

// makespans draws the time until the last host was through against the limit: the
// mean of all seeds. Points of storms that were not finished are left out.
func makespans(results []Result) *svg.Plot {
	p := &svg.Plot{Title: "Makespan against limit", XLabel: "limit", YLabel: "hours until all are through"}
	var missing []string // points of storms that did not end
	for _, who := range valuesOf(results, func(r Result) string { return r.who() }) {
		own := filter(results, func(r Result) bool { return r.who() == who })
		var at []svg.Point
		for _, limit := range valuesOf(own, func(r Result) int { return r.Limit }) {
			if slices.ContainsFunc(own, func(r Result) bool { return r.Limit == limit && !r.Finished }) {
				missing = append(missing, fmt.Sprintf("%s %d", who, limit))
				continue
			}
			sum, n := 0.0, 0.0
			for _, r := range own {
				if r.Limit == limit {
					sum, n = sum+r.MakespanSeconds/3600, n+1
				}
			}
			at = append(at, svg.Point{X: float64(limit), Y: sum / n})
		}
		if len(at) == 0 {
			continue
		}
		slices.SortFunc(at, func(a, b svg.Point) int { return cmp.Compare(a.X, b.X) })
		p.Lines = append(p.Lines, svg.Line{Name: who, Colour: colours[who], Marks: true, Points: at})
	}
	if len(missing) > 0 {
		p.Title += "\nnot finished, left out: " + shortList(missing)
	}
	return p
}

// shortList names the first of all, and how many more there are.
func shortList(all []string) string {
	const shown = 6
	if len(all) <= shown {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:shown], ", "), len(all)-shown)
}
