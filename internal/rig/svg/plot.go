package svg

import (
	"image/color"
	"slices"
)

// Plot shows lines, or bars in groups, above a horizontal axis. The vertical axis
// begins at 0, or below it where a value is; the horizontal one covers the points of the
// lines. Values beyond ±1e15 are drawn there, NaN as 0.
type Plot struct {
	Title, XLabel, YLabel string // a line break begins a new line; too wide ones are wrapped
	LogY                  bool   // the vertical axis is logarithmic, with 0 a little below 1

	Lines []Line // the last is on top

	Groups []string // of bars, short names from the left to the right; with Groups, Lines are not drawn
	Bars   []Bars   // the bars of a group stand in this order
}

// Line is a line from point to point.
type Line struct {
	Name   string // in the legend
	Colour color.RGBA
	Stroke Stroke
	Marks  bool // a ring at each point
	Points []Point
}

// Point is a value at a place of the horizontal axis.
type Point struct{ X, Y float64 }

// Bars are the bars of one colour, a value for each group.
type Bars struct {
	Name   string // in the legend
	Colour color.RGBA
	Values []float64
}

// Stroke is how a line is drawn: the lengths of its dashes and gaps.
type Stroke string

// The strokes.
const (
	Solid  Stroke = ""
	Dashed Stroke = "6 3"
	Dotted Stroke = "1.5 2"
)

// scales cover all that is drawn, with some space above it.
func (p *Plot) scales() (x, y scale) {
	const above = 1.06
	var xs []float64
	ys := []float64{0}
	for _, l := range p.lines() {
		for _, at := range l.Points {
			xs, ys = append(xs, drawable(at.X)), append(ys, drawable(at.Y))
		}
	}
	for _, b := range p.Bars {
		for _, v := range b.Values {
			ys = append(ys, drawable(v))
		}
	}
	if len(xs) == 0 {
		xs = []float64{0}
	}
	low, high := slices.Min(ys), slices.Max(ys)
	if high == low {
		high = 1
	}
	x, y = newScale(slices.Min(xs), slices.Max(xs), false), newScale(low, high, p.LogY)
	y.max = y.min + above*(y.max-y.min)
	return x, y
}

func (p *Plot) lines() []Line {
	if len(p.Groups) > 0 {
		return nil
	}
	return p.Lines
}
