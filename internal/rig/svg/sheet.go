package svg

// Width of a sheet.
const Width = 740

const (
	margin = 14 // around a sheet and around each plot
	rowGap = 10 // between rows, besides their margins

	headingSize = 10 // of the font
	headingLine = 14 // from one line to the next
)

// Sheet is a drawing of plots below a heading. The zero value is an empty sheet.
type Sheet struct {
	Heading []string  // lines; a line that is too wide is wrapped
	Rows    [][]*Plot // the plots of a row are equally wide
}

// SVG draws the sheet: one svg element, without an XML declaration, so that it can
// stand in a file of its own and within a page.
func (s *Sheet) SVG() []byte {
	heading := wrapAll(s.Heading, headingSize, Width-2*margin)
	height := float64(margin)
	if len(heading) > 0 {
		height += float64(len(heading))*headingLine + rowGap
	}
	rows := make([]row, len(s.Rows))
	for i, plots := range s.Rows {
		rows[i] = newRow(plots, height)
		height += rows[i].height() + rowGap
	}
	height += margin - rowGap*float64(min(1, len(rows)))

	var c canvas
	c.begin(Width, height)
	for i, line := range heading {
		c.text(margin, margin+headingSize+float64(i)*headingLine, headingSize, start, line)
	}
	for _, r := range rows {
		r.draw(&c)
	}
	c.finish()
	return c.out.Bytes()
}

// row is a row of plots whose areas stand side by side at the same height.
type row struct {
	top    float64
	above  float64 // the most that a plot needs above its area
	below  float64 // and below it
	frames []frame
}

func newRow(plots []*Plot, top float64) row {
	r := row{top: top}
	width := Width / float64(max(1, len(plots)))
	for i, p := range plots {
		f := newFrame(p, float64(i)*width+margin, width-2*margin)
		r.above, r.below = max(r.above, f.above()), max(r.below, f.below())
		r.frames = append(r.frames, f)
	}
	return r
}

func (r *row) height() float64 { return r.above + areaHeight + r.below }

func (r *row) draw(c *canvas) {
	for _, f := range r.frames {
		f.draw(c, r.top+r.above)
	}
}
