package svg

import "math"

const (
	areaHeight = 170 // of what the axes enclose
	rightPad   = 16  // right of the area, for half a label
	leastLeft  = 48  // left of it, so that the areas of most plots stand in one column

	titleSize, titleLine = 13, 17
	labelSize, labelLine = 12, 14
	textSize             = 10 // of ticks and legend
	tickLength           = 5
	tickGap              = 3 // between a tick and its label
	gap                  = 6 // between parts

	markRadius = 3
	widestBar  = 24
)

// frame is a plot with a place for each of its parts.
type frame struct {
	plot          *Plot
	left          float64 // of the title
	title         []string
	legend        []entry
	x, y          scale
	xTicks        []tick
	yTicks        []tick
	xLabel        []string
	yLabel        []string
	areaLeft      float64
	areaRight     float64
	areaTop, base float64 // known when it is drawn
}

// newFrame lays the plot out between left and left+width.
func newFrame(p *Plot, left, width float64) frame {
	f := frame{plot: p, left: left, title: wrap(p.Title, titleSize, width), yLabel: wrap(p.YLabel, labelSize, areaHeight)}
	f.x, f.y = p.scales()
	f.yTicks = f.y.ticks(5)
	widest := 0.0
	for _, t := range f.yTicks {
		widest = max(widest, slack*TextWidth(t.label, textSize))
	}
	f.areaLeft = left + max(leastLeft, float64(len(f.yLabel))*labelLine+gap+widest+tickGap+tickLength)
	f.areaRight = left + width - rightPad
	f.xLabel = wrap(p.XLabel, labelSize, f.areaRight-f.areaLeft)
	f.legend = p.legend(f.areaRight - f.areaLeft)
	f.x.from, f.x.to = f.areaLeft, f.areaRight
	for _, l := range p.lines() {
		if l.Marks { // they stay within the area
			f.x.from, f.x.to = f.areaLeft+2*markRadius, f.areaRight-2*markRadius
		}
	}
	if len(p.lines()) > 0 {
		const apart = 80
		f.xTicks = f.x.ticks(max(2, int((f.areaRight-f.areaLeft)/apart)))
	}
	return f
}

// above is the height of what stands above the area.
func (f *frame) above() float64 {
	high := float64(len(f.title)) * titleLine
	if n := len(f.legend); n > 0 {
		high += gap + float64(f.legend[n-1].row+1)*legendLine
	}
	return high + gap
}

// below is the height of what stands below the area.
func (f *frame) below() float64 {
	return tickLength + tickGap + textSize + gap + float64(len(f.xLabel))*labelLine + gap
}

// draw draws the plot with its area below top.
func (f *frame) draw(c *canvas, top float64) {
	f.areaTop, f.base = top, top+areaHeight
	f.y.from, f.y.to = f.base, f.areaTop
	y := top - f.above()
	for i, line := range f.title {
		c.text(f.left, y+titleSize+float64(i)*titleLine, titleSize, start, line)
	}
	y += float64(len(f.title))*titleLine + gap
	for _, e := range f.legend {
		e.draw(c, f.areaLeft, y+textSize)
	}
	f.drawAxes(c)
	f.drawBars(c)
	for _, l := range f.plot.lines() {
		f.drawLine(c, l)
	}
}

func (f *frame) drawAxes(c *canvas) {
	for _, t := range f.xTicks {
		x := f.x.place(t.value)
		c.line(x, f.areaTop, x, f.base, pale)
		c.line(x, f.base, x, f.base+tickLength, ink)
		c.text(x, f.base+tickLength+tickGap+0.7*textSize, textSize, middle, t.label)
	}
	for _, t := range f.yTicks {
		y, long := f.y.place(t.value), tickLength/2.0
		if t.label != "" {
			long = tickLength
			c.line(f.areaLeft, y, f.areaRight, y, pale)
			c.text(f.areaLeft-tickLength-tickGap, y+0.35*textSize, textSize, end, t.label)
		}
		c.line(f.areaLeft-long, y, f.areaLeft, y, ink)
	}
	c.line(f.areaLeft, f.areaTop, f.areaLeft, f.base, ink)
	c.line(f.areaLeft, f.base, f.areaRight, f.base, ink)
	for i, line := range f.xLabel {
		y := f.base + tickLength + tickGap + textSize + gap + 0.7*labelSize + float64(i)*labelLine
		c.text((f.areaLeft+f.areaRight)/2, y, labelSize, middle, line)
	}
	for i, line := range f.yLabel {
		c.upright(f.left+labelSize*0.9+float64(i)*labelLine, (f.areaTop+f.base)/2, line)
	}
}

func (f *frame) drawLine(c *canvas, l Line) {
	at := make([]Point, len(l.Points))
	for i, p := range l.Points {
		at[i] = Point{f.x.place(drawable(p.X)), f.y.place(drawable(p.Y))}
	}
	if len(at) > 1 {
		c.curve(at, l.Colour, l.Stroke)
	}
	if l.Marks {
		for _, p := range at {
			c.mark(p.X, p.Y, l.Colour)
		}
	}
}

// drawBars draws the groups side by side, each with its name below where the names
// have the space.
func (f *frame) drawBars(c *canvas) {
	groups, kinds := f.plot.Groups, float64(len(f.plot.Bars))
	slot := (f.areaRight - f.areaLeft) / float64(max(1, len(groups)))
	wide := min(widestBar, 0.8*slot/max(1, kinds))
	widest := 0.0
	for _, name := range groups {
		widest = max(widest, slack*TextWidth(name, textSize)+gap)
	}
	every := max(1, int(math.Ceil(widest/slot)))
	for g, name := range groups {
		centre := f.areaLeft + (float64(g)+0.5)*slot
		if g%every == 0 {
			c.text(centre, f.base+tickLength+tickGap+0.7*textSize, textSize, middle, name)
		}
		for i, b := range f.plot.Bars {
			if g >= len(b.Values) {
				continue
			}
			from, to := f.y.place(0), f.y.place(drawable(b.Values[g]))
			c.bar(centre+(float64(i)-kinds/2)*wide, min(from, to), wide, math.Abs(to-from), b.Colour)
		}
	}
}
