package svgtest

import (
	"fmt"
	"math"
	"strconv"
)

// The least contrasts with white (WCAG 2.1, 1.4.6 and 1.4.11).
const (
	textContrast  = 7
	shapeContrast = 3
)

const gridColour = "#e1e1e1" // the one that may be pale

// Faults lists what a reader could not read.
func (d *Drawing) Faults() []string {
	var out []string
	bad := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	whole := Box{0, 0, d.Width, d.Height}
	if d.background.Box != whole || d.background.Colour != "#ffffff" {
		bad("the background is %s on %v, not white on %v", d.background.Colour, d.background.Box, whole)
	}
	for i, t := range d.Texts {
		if !within(t.Box, whole) {
			bad("%q is cut off: %v of %v", t.Content, t.Box, whole)
		}
		if c := contrast(t.Colour); c < textContrast {
			bad("%q is too pale: %s", t.Content, t.Colour)
		}
		for _, o := range d.Texts[:i] {
			if t.Box.overlaps(o.Box) {
				bad("%q overlaps %q", t.Content, o.Content)
			}
		}
		for _, s := range d.Shapes {
			if t.Box.overlaps(s.Box) {
				bad("%q overlaps a %s of %s", t.Content, s.Kind, s.Colour)
			}
		}
	}
	for _, s := range d.Shapes {
		if !within(s.Box, whole) {
			bad("a %s of %s is cut off: %v of %v", s.Kind, s.Colour, s.Box, whole)
		}
		if c := contrast(s.Colour); c < shapeContrast && (s.Kind != "line" || s.Colour != gridColour) {
			bad("a %s is too pale: %s", s.Kind, s.Colour)
		}
	}
	return out
}

// within is false for a box with NaN.
func within(b, whole Box) bool {
	return b.Left >= whole.Left && b.Top >= whole.Top && b.Right <= whole.Right && b.Bottom <= whole.Bottom
}

// contrast is that of a colour with white, by WCAG: 1 to 21; 0 if it is no colour.
func contrast(colour string) float64 {
	v, err := strconv.ParseUint(colour[min(1, len(colour)):], 16, 32)
	if err != nil || len(colour) != 7 || colour[0] != '#' {
		return 0
	}
	light := func(c uint64) float64 {
		s := float64(c&0xff) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 1.05 / (0.2126*light(v>>16) + 0.7152*light(v>>8) + 0.0722*light(v) + 0.05)
}
