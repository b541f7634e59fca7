package simulate

import (
	"bytes"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of a panel.
const (
	panelWidth  = 26 * vg.Centimeter
	panelHeight = 9 * vg.Centimeter
	margin      = vg.Centimeter / 2
	pngDPI      = 110
)

// writePicture draws the results into a file of the kind that its name says.
func writePicture(path string, results []Result) error {
	rows, err := panels(results)
	if err != nil {
		return err
	}
	var text []byte
	switch filepath.Ext(path) {
	case ".png":
		text, err = asPNG(rows)
	case ".svg":
		text, err = asSVG(rows)
	default:
		text, err = asHTML(rows, results)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644) //nolint:gosec // a picture is there to be shown
}

// size of a picture with so many rows of panels.
func size(rows [][]*plot.Plot) (w, h vg.Length) {
	return panelWidth, vg.Length(len(rows)) * panelHeight
}

// drawOn draws rows of panels, each row from the left to the right.
func drawOn(c vg.CanvasSizer, rows [][]*plot.Plot) {
	whole := draw.New(c)
	height := whole.Max.Y - whole.Min.Y
	for i, row := range rows {
		top := whole.Max.Y - vg.Length(i)*panelHeight
		width := (whole.Max.X - whole.Min.X) / vg.Length(len(row))
		for j, p := range row {
			left := whole.Min.X + vg.Length(j)*width
			p.Draw(draw.Crop(whole,
				left-whole.Min.X+margin, left+width-whole.Max.X-margin,
				top-panelHeight+margin-whole.Min.Y, top-margin-(whole.Min.Y+height)))
		}
	}
}

func asPNG(rows [][]*plot.Plot) ([]byte, error) {
	w, h := size(rows)
	c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))
	drawOn(c, rows)
	var out bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(&out)
	return out.Bytes(), err
}

func asSVG(rows [][]*plot.Plot) ([]byte, error) {
	c := vgsvg.New(size(rows))
	drawOn(c, rows)
	var out bytes.Buffer
	if _, err := c.WriteTo(&out); err != nil {
		return nil, err
	}
	// Few have the font itself; Arial is as wide.
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
}

var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>
body { font-family: Arial, Helvetica, sans-serif; margin: 2em auto; max-width: 1000px; color: #222 }
svg { width: 100%; height: auto }
table { border-collapse: collapse; margin: 1em 0 }
td, th { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left }
</style>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
{{.Picture}}
<table>
{{range $i, $row := .Rows}}<tr>{{range $row}}{{if eq $i 0}}<th>{{.}}</th>{{else}}<td>{{.}}</td>{{end}}{{end}}</tr>
{{end}}</table>
</html>
`))

// asHTML is one page that needs nothing else.
func asHTML(panels [][]*plot.Plot, results []Result) ([]byte, error) {
	svg, err := asSVG(panels)
	if err != nil {
		return nil, err
	}
	_, picture, _ := strings.Cut(string(svg), "?>")
	var table [][]string
	for _, row := range rows {
		line := []string{row.name}
		for _, r := range results {
			line = append(line, row.of(r))
		}
		table = append(table, line)
	}
	first := results[0]
	var out bytes.Buffer
	err = page.Execute(&out, struct {
		Title, Text string
		Picture     template.HTML
		Rows        [][]string
	}{
		Title: fmt.Sprintf("A storm of %d hosts", first.Hosts),
		Text: fmt.Sprintf("Simulated by ironic-throttle. All %d hosts want to be provisioned at the same moment, asked via %s. "+
			"What works is the truth inside the simulated Ironic, what is occupied the count of the rule.", first.Hosts, first.Via),
		Picture: template.HTML(picture), //nolint:gosec // drawn here, of numbers and our own words
		Rows:    table,
	})
	return out.Bytes(), err
}

// newPlot is an empty panel.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	sans := font.Font{Typeface: "Liberation", Variant: "Sans"}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	for _, f := range []*font.Font{
		&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font,
	} {
		f.Typeface, f.Variant = sans.Typeface, sans.Variant
	}
	p.Title.TextStyle.Font.Size, p.Title.Padding = 13, 6
	p.Legend.Top, p.Legend.ThumbnailWidth, p.Legend.Padding = true, 18, 2
	p.Legend.TextStyle.Font.Size = 10
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	p.Add(grid)
	return p
}
