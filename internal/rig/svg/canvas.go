package svg

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
)

// fonts are for readers who lack the first; Arial and Helvetica are as wide.
const fonts = "'Liberation Sans',Arial,Helvetica,sans-serif"

var (
	ink  = color.RGBA{30, 30, 30, 255} // texts and axes
	pale = color.RGBA{225, 225, 225, 255}
)

// anchor is the part of a text that is at its x.
type anchor string

const (
	start  anchor = "start"
	middle anchor = "middle"
	end    anchor = "end"
)

// canvas writes SVG elements. x grows to the right, y downwards.
type canvas struct {
	out bytes.Buffer
}

func (c *canvas) begin(width, height float64) {
	w, h := number(width), number(height)
	fmt.Fprintf(&c.out, `<svg xmlns="http://www.w3.org/2000/svg" width="%spt" height="%spt" viewBox="0 0 %s %s" font-family="%s" fill="%s">`+"\n",
		w, h, w, h, fonts, hex(ink))
	fmt.Fprintf(&c.out, `<rect width="%s" height="%s" fill="#ffffff"/>`+"\n", w, h)
}

func (c *canvas) finish() { c.out.WriteString("</svg>\n") }

// text writes s with its baseline at y.
func (c *canvas) text(x, y, size float64, at anchor, s string) {
	fmt.Fprintf(&c.out, `<text x="%s" y="%s" font-size="%s" text-anchor="%s">`, number(x), number(y), number(size), at)
	c.escape(s)
}

// upright writes the label of an axis from the bottom to the top with its middle at y
// and its baseline at x.
func (c *canvas) upright(x, y float64, s string) {
	fmt.Fprintf(&c.out, `<text transform="translate(%s %s) rotate(-90)" font-size="%d" text-anchor="middle">`, number(x), number(y), labelSize)
	c.escape(s)
}

func (c *canvas) escape(s string) {
	_ = xml.EscapeText(&c.out, []byte(s)) // a bytes.Buffer takes everything
	c.out.WriteString("</text>\n")
}

// line draws a part of an axis or of the grid.
func (c *canvas) line(x1, y1, x2, y2 float64, colour color.RGBA) {
	fmt.Fprintf(&c.out, `<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s" stroke-width="0.5"/>`+"\n",
		number(x1), number(y1), number(x2), number(y2), hex(colour))
}

// curve draws lines from point to point.
func (c *canvas) curve(points []Point, colour color.RGBA, stroke Stroke) {
	var at strings.Builder
	for i, p := range points {
		if i > 0 {
			at.WriteByte(' ')
		}
		at.WriteString(number(p.X) + "," + number(p.Y))
	}
	dashes := ""
	if stroke != Solid {
		dashes = ` stroke-dasharray="` + string(stroke) + `"`
	}
	fmt.Fprintf(&c.out, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.4" stroke-linejoin="round"%s/>`+"\n", at.String(), hex(colour), dashes)
}

func (c *canvas) bar(x, y, width, height float64, colour color.RGBA) {
	fmt.Fprintf(&c.out, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n",
		number(x), number(y), number(width), number(height), hex(colour))
}

// mark draws a ring that is white within.
func (c *canvas) mark(x, y float64, colour color.RGBA) {
	fmt.Fprintf(&c.out, `<circle cx="%s" cy="%s" r="%d" fill="#ffffff" stroke="%s" stroke-width="1.4"/>`+"\n", number(x), number(y), markRadius, hex(colour))
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// number writes v with at most two decimals.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100+0, 'f', -1, 64) // + 0: no -0
}
