package svg

import "image/color"

const (
	legendLine = 14 // from one row of the legend to the next
	thumbWidth = 18 // of the piece of a line beside its name
	thumbGap   = 4
	entryGap   = 12 // between a name and the next thumb
)

// entry is one name of the legend.
type entry struct {
	name   string
	colour color.RGBA
	line   *Line // nil: of bars
	x      float64
	row    int
}

// legend places the names of a plot in rows of that width: all in one, or in columns.
func (p *Plot) legend(width float64) []entry {
	var out []entry
	for _, b := range p.Bars {
		out = append(out, entry{name: b.Name, colour: b.Colour})
	}
	for _, l := range p.lines() {
		out = append(out, entry{name: l.Name, colour: l.Colour, line: &l})
	}
	all, column := 0.0, 0.0
	for i := range out {
		out[i].x = all
		all += out[i].width()
		column = max(column, out[i].width())
	}
	if all <= width {
		return out
	}
	columns := max(1, int(width/column))
	for i := range out {
		out[i].x, out[i].row = float64(i%columns)*column, i/columns
	}
	return out
}

func (e *entry) width() float64 {
	return thumbWidth + thumbGap + slack*TextWidth(e.name, textSize) + entryGap
}

// draw draws the thumb and its name with the first row of the legend at x and y.
func (e *entry) draw(c *canvas, x, y float64) {
	x, y = x+e.x, y+float64(e.row)*legendLine
	const high = textSize * 0.7 // of a capital letter
	if e.line == nil {
		c.bar(x, y-high, thumbWidth, high, e.colour)
	} else {
		c.curve([]Point{{x, y - high/2}, {x + thumbWidth, y - high/2}}, e.colour, e.line.Stroke)
		if e.line.Marks {
			c.mark(x+thumbWidth/2, y-high/2, e.colour)
		}
	}
	c.text(x+thumbWidth+thumbGap, y, textSize, start, e.name)
}
