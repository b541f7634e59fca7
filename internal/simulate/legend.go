package simulate

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

const (
	legendThumb = 18
	legendLine  = vg.Length(12) // height of a name
	axisWidth   = vg.Length(60) // of the vertical axis with its names, at most
	plotHeight  = vg.Length(170)
)

// placeLegend puts the legend with these names to the right, where curves have come
// down, each thumbnail before its name: so a font that is wider than ours runs into
// the slack and not into the lines. It returns how much higher than its curves
// a plot must be for the legend to fit in above them.
func placeLegend(p *plot.Plot, width vg.Length, names []string) (headroom float64) {
	const slack = 1.2
	longest := vg.Length(0)
	for _, name := range names {
		longest = max(longest, p.Legend.TextStyle.Width(name))
	}
	p.Legend.XOffs = max(6, width-2*margin-axisWidth-legendThumb-slack*longest)
	part := (vg.Length(len(names))*legendLine + legendLine) / plotHeight
	return min(1.8, max(1.2, 1/(1-float64(part))))
}

// half is the width of a panel of which there are two in a row.
const half = panelWidth / 2
