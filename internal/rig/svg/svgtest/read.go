// Package svgtest reads drawings of internal/rig/svg for tests, and finds what a reader
// could not read: texts that overlap, that are cut off, or that are too pale.
package svgtest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/svg"
)

// Drawing is an SVG as its reader sees it, in the order in which it is drawn.
type Drawing struct {
	Width, Height float64
	Texts         []Text
	Shapes        []Shape // without the background
	background    Shape
}

// Text is a line of text.
type Text struct {
	Content string
	Box     Box
	Colour  string // such as #1e1e1e
}

// Shape is everything else.
type Shape struct {
	Kind   string // line, polyline, rect or circle
	Box    Box
	Colour string // of its stroke, or of its fill if it has none
	Dashes string
	Points []svg.Point // of a polyline, as drawn
}

// Box is what surrounds a text or a shape.
type Box struct{ Left, Top, Right, Bottom float64 }

// Middle is the horizontal middle.
func (b Box) Middle() float64 { return (b.Left + b.Right) / 2 }

func (b Box) overlaps(o Box) bool {
	return b.Left < o.Right && o.Left < b.Right && b.Top < o.Bottom && o.Top < b.Bottom
}

// element is an XML element with its attributes. The first error of a number stays.
type element struct {
	xml.StartElement
	err error
}

func (e *element) attr(name string) string {
	i := slices.IndexFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == name })
	if i < 0 {
		return ""
	}
	return e.Attr[i].Value
}

func (e *element) parse(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%s: %w", e.Name.Local, err)
	}
	return v
}

func (e *element) number(name string) float64 {
	if s := e.attr(name); s != "" {
		return e.parse(s)
	}
	return 0
}

// Read parses an SVG, and only what internal/rig/svg writes.
func Read(doc []byte) (*Drawing, error) {
	d := &Drawing{}
	in := xml.NewDecoder(bytes.NewReader(doc))
	ink := ""
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		begin, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		e := &element{StartElement: begin}
		switch e.Name.Local {
		case "svg":
			d.Width, d.Height, ink = e.parse(strings.TrimSuffix(e.attr("width"), "pt")), e.parse(strings.TrimSuffix(e.attr("height"), "pt")), e.attr("fill")
			if want := fmt.Sprintf("0 0 %v %v", d.Width, d.Height); e.attr("viewBox") != want {
				return nil, fmt.Errorf("viewBox %q, want %q", e.attr("viewBox"), want)
			}
		case "text":
			var content string
			if err := in.DecodeElement(&content, &begin); err != nil {
				return nil, err
			}
			d.Texts = append(d.Texts, Text{content, e.textBox(content), ink})
		default:
			s, err := e.shape()
			if err != nil {
				return nil, err
			}
			if d.background.Kind == "" {
				d.background = s
			} else {
				d.Shapes = append(d.Shapes, s)
			}
		}
		if e.err != nil {
			return nil, e.err
		}
	}
}

// textBox takes a font that is a tenth wider than ours.
func (e *element) textBox(content string) Box {
	const wider, ascent, descent = 1.1, 0.75, 0.21
	size := e.number("font-size")
	width := wider * svg.TextWidth(content, size)
	if turn := e.attr("transform"); turn != "" {
		var x, y float64
		if _, err := fmt.Sscanf(turn, "translate(%g %g) rotate(-90)", &x, &y); err != nil {
			e.err = fmt.Errorf("transform %q: %w", turn, err)
		}
		return Box{x - ascent*size, y - width/2, x + descent*size, y + width/2}
	}
	left, y := e.number("x"), e.number("y")
	switch e.attr("text-anchor") {
	case "middle":
		left -= width / 2
	case "end":
		left -= width
	}
	return Box{left, y - ascent*size, left + width, y + descent*size}
}

func (e *element) shape() (Shape, error) {
	s := Shape{Kind: e.Name.Local, Colour: e.attr("stroke"), Dashes: e.attr("stroke-dasharray")}
	if s.Colour == "" {
		s.Colour = e.attr("fill")
	}
	switch s.Kind {
	case "line":
		x1, y1, x2, y2 := e.number("x1"), e.number("y1"), e.number("x2"), e.number("y2")
		s.Box = Box{min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)}
	case "rect":
		x, y := e.number("x"), e.number("y")
		s.Box = Box{x, y, x + e.number("width"), y + e.number("height")}
	case "circle":
		x, y, r := e.number("cx"), e.number("cy"), e.number("r")
		s.Box = Box{x - r, y - r, x + r, y + r}
	case "polyline":
		for at := range strings.FieldsSeq(e.attr("points")) {
			x, y, _ := strings.Cut(at, ",")
			p := svg.Point{X: e.parse(x), Y: e.parse(y)}
			if len(s.Points) == 0 {
				s.Box = Box{p.X, p.Y, p.X, p.Y}
			}
			s.Box = Box{min(s.Box.Left, p.X), min(s.Box.Top, p.Y), max(s.Box.Right, p.X), max(s.Box.Bottom, p.Y)}
			s.Points = append(s.Points, p)
		}
	default:
		return s, fmt.Errorf("element %s: not one of internal/rig/svg", s.Kind)
	}
	return s, nil
}
