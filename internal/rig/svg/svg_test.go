package svg_test

import (
	"bytes"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/svg"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/svg/svgtest"
)

var (
	blue  = color.RGBA{0, 114, 178, 255}
	green = color.RGBA{0, 158, 115, 255}
)

const blueHex = "#0072b2"

// read draws a sheet, which must have no faults.
func read(t interface {
	Helper()
	Fatalf(string, ...any)
}, s svg.Sheet) *svgtest.Drawing {
	t.Helper()
	d, err := svgtest.Read(s.SVG())
	if err != nil {
		t.Fatalf("%v", err)
	}
	if faults := d.Faults(); len(faults) > 0 {
		t.Fatalf("%s", strings.Join(faults, "\n"))
	}
	return d
}

func one(p *svg.Plot) svg.Sheet { return svg.Sheet{Rows: [][]*svg.Plot{{p}}} }

func shapes(d *svgtest.Drawing, kind, colour string) []svgtest.Shape {
	return slices.DeleteFunc(slices.Clone(d.Shapes), func(s svgtest.Shape) bool { return s.Kind != kind || s.Colour != colour })
}

// box finds the text that is drawn last.
func box(t *testing.T, d *svgtest.Drawing, content string) svgtest.Box {
	t.Helper()
	for _, text := range slices.Backward(d.Texts) {
		if text.Content == content {
			return text.Box
		}
	}
	t.Fatalf("no text %q", content)
	return svgtest.Box{}
}

func near(a, b float64) bool { return math.Abs(a-b) < 0.02 }

// middleOf is the height of the digits of a label.
func middleOf(b svgtest.Box) float64 { return b.Top + 0.4*10 }

func TestPointsStandAtTheirTicks(t *testing.T) {
	for _, log := range []bool{false, true} {
		d := read(t, one(&svg.Plot{Title: "t", XLabel: "x", YLabel: "y", LogY: log, Lines: []svg.Line{
			{Name: "a", Colour: blue, Points: []svg.Point{{X: 200, Y: 0}, {X: 225, Y: 10}, {X: 300, Y: 100}}},
		}}))
		curves := shapes(d, "polyline", blueHex)
		if len(curves) != 2 { // one in the legend
			t.Fatalf("%d curves", len(curves))
		}
		at := curves[1].Points
		if !near(at[0].X, box(t, d, "200").Middle()) || !near(at[2].X, box(t, d, "300").Middle()) || !near(4*(at[1].X-at[0].X), at[2].X-at[0].X) {
			t.Errorf("log %v: x of %v", log, at)
		}
		if hundred := middleOf(box(t, d, "100")); math.Abs(at[2].Y-hundred) > 0.1 {
			t.Errorf("log %v: 100 is drawn at %v, its tick is at %v", log, at[2].Y, hundred)
		}
		linear := (at[0].Y - at[1].Y) / (at[0].Y - at[2].Y)
		want := 0.1
		if log { // 0 is at the logarithm of 0.8
			want = (1 - math.Log10(0.8)) / (2 - math.Log10(0.8))
		}
		if math.Abs(linear-want) > 0.001 {
			t.Errorf("log %v: 10 is at %.3f of the way to 100, want %.3f", log, linear, want)
		}
	}
}

func TestBarsStandOnTheAxisAboveTheirGroup(t *testing.T) {
	d := read(t, one(&svg.Plot{Groups: []string{"first", "second"}, Bars: []svg.Bars{
		{Name: "a", Colour: blue, Values: []float64{2, 4}}, {Name: "b", Colour: green, Values: []float64{0, 1}},
	}}))
	bars, others := shapes(d, "rect", blueHex)[1:], shapes(d, "rect", "#009e73")[1:]
	zero := middleOf(box(t, d, "0"))
	for i, name := range []string{"first", "second"} {
		if math.Abs(bars[i].Box.Bottom-zero) > 0.1 || !near(bars[i].Box.Right, box(t, d, name).Middle()) || !near(bars[i].Box.Right, others[i].Box.Left) {
			t.Errorf("%s: bars %v and %v, 0 is at %v", name, bars[i].Box, others[i].Box, zero)
		}
	}
	high := func(s svgtest.Shape) float64 { return s.Box.Bottom - s.Box.Top }
	if !near(high(bars[0])*2, high(bars[1])) || !near(high(others[0]), 0) || !near(high(others[1])*4, high(bars[1])) {
		t.Errorf("heights %v, %v", bars, others)
	}
}

func TestStrokesAndMarks(t *testing.T) {
	points := []svg.Point{{X: 1, Y: 1}, {X: 2, Y: 3}}
	d := read(t, one(&svg.Plot{Lines: []svg.Line{
		{Name: "dashed", Colour: blue, Stroke: svg.Dashed, Points: points},
		{Name: "dotted", Colour: blue, Stroke: svg.Dotted, Points: points},
		{Name: "marked", Colour: green, Marks: true, Points: points},
		{Name: "alone", Colour: green, Marks: true, Points: points[:1]},
	}}))
	var dashes []string
	for _, s := range shapes(d, "polyline", blueHex) {
		dashes = append(dashes, s.Dashes)
	}
	if want := []string{"6 3", "1.5 2", "6 3", "1.5 2"}; !slices.Equal(dashes, want) { // legend, then plot
		t.Errorf("dashes %q", dashes)
	}
	if n := len(shapes(d, "circle", "#009e73")); n != 2+3 {
		t.Errorf("%d marks", n)
	}
	for _, name := range []string{"dashed", "dotted", "marked", "alone"} {
		box(t, d, name)
	}
}

func TestSheetIsAsHighAsItsRows(t *testing.T) {
	p := &svg.Plot{Title: "title", XLabel: "x", YLabel: "y"}
	empty, single := read(t, svg.Sheet{}), read(t, one(p))
	double := read(t, svg.Sheet{Heading: []string{"heading"}, Rows: [][]*svg.Plot{{p}, {p, p}}})
	if empty.Width != svg.Width || single.Height < 220 || double.Height < 2*single.Height {
		t.Errorf("sizes %vx%v, %v, %v", empty.Width, empty.Height, single.Height, double.Height)
	}
	var titles []svgtest.Box
	for _, text := range double.Texts {
		if text.Content == "title" {
			titles = append(titles, text.Box)
		}
	}
	if len(titles) != 3 || titles[0].Bottom > titles[1].Top || titles[1].Top != titles[2].Top || titles[2].Left < svg.Width/2 {
		t.Errorf("titles at %v", titles)
	}
}

func TestTextsAreEscaped(t *testing.T) {
	wild := `</text><script>&amp; "x" 'y'`
	d := read(t, svg.Sheet{Heading: []string{wild, "no\x00pe \xff"}, Rows: [][]*svg.Plot{{{
		Title: wild, XLabel: wild, YLabel: "<y>", Lines: []svg.Line{{Name: wild, Colour: blue}},
		Groups: nil,
	}}}})
	found := 0
	for _, text := range d.Texts {
		if text.Content == wild {
			found++
		}
	}
	if found != 4 {
		t.Errorf("found %d times in %v", found, d.Texts)
	}
	box(t, d, "<y>")
	box(t, d, "no\uFFFDpe \uFFFD")
}

// TestAnySheetCanBeRead draws sheets with any values and any words that are not too
// long for a name: nothing overlaps, nothing is cut off, and it is the same twice.
func TestAnySheetCanBeRead(t *testing.T) {
	value := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-10, 1e6), rapid.Just(0.0),
		rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64}))
	sentence := rapid.StringMatching(`([a-zA-Z0-9äW<&=,.-]{1,30}[ \n]?){0,12}`)
	name := rapid.StringMatching(`[a-zW: ]{1,20}`)
	short := rapid.StringMatching(`[a-zW0-9]{0,6}`)
	point := rapid.Custom(func(t *rapid.T) svg.Point { return svg.Point{X: value.Draw(t, "x"), Y: value.Draw(t, "y")} })
	line := rapid.Custom(func(t *rapid.T) svg.Line {
		return svg.Line{
			Name: name.Draw(t, "name"), Colour: blue, Stroke: rapid.SampledFrom([]svg.Stroke{svg.Solid, svg.Dashed, svg.Dotted}).Draw(t, "stroke"),
			Marks: rapid.Bool().Draw(t, "marks"), Points: rapid.SliceOfN(point, 0, 5).Draw(t, "points"),
		}
	})
	bars := rapid.Custom(func(t *rapid.T) svg.Bars {
		return svg.Bars{Name: name.Draw(t, "name"), Colour: green, Values: rapid.SliceOfN(value, 0, 14).Draw(t, "values")}
	})
	plot := rapid.Custom(func(t *rapid.T) *svg.Plot {
		return &svg.Plot{
			Title: sentence.Draw(t, "title"), XLabel: sentence.Draw(t, "xLabel"), YLabel: name.Draw(t, "yLabel"), LogY: rapid.Bool().Draw(t, "log"),
			Lines: rapid.SliceOfN(line, 0, 8).Draw(t, "lines"), Groups: rapid.SliceOfN(short, 0, 14).Draw(t, "groups"), Bars: rapid.SliceOfN(bars, 0, 5).Draw(t, "bars"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		s := svg.Sheet{
			Heading: rapid.SliceOfN(sentence, 0, 3).Draw(t, "heading"),
			Rows:    rapid.SliceOfN(rapid.SliceOfN(plot, 1, 2), 0, 3).Draw(t, "rows"),
		}
		read(t, s)
		if !bytes.Equal(s.SVG(), s.SVG()) {
			t.Fatal("drawn twice, and different")
		}
	})
}
