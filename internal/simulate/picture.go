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

// picture is what is drawn: panels below some lines that say what was played.
type picture struct {
	head []string // wrapped
	rows [][]*plot.Plot
}

// writePicture draws the results into the file g.Plot, of the kind that its name
// says.
func (g *Grid) writePicture(version string, results []Result) error {
	rows, err := panels(results, g.growing())
	if err != nil {
		return err
	}
	p := picture{wrapped(g.heading(version, results)), rows}
	var text []byte
	switch filepath.Ext(g.Plot) {
	case ".png":
		text, err = p.png()
	case ".svg":
		text, err = p.svg()
	default:
		text, err = p.html(results)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(g.Plot, text, 0o644) //nolint:gosec // a picture is there to be shown
}

func (p *picture) size() (w, h vg.Length) {
	return panelWidth, headHeight(p.head) + vg.Length(len(p.rows))*panelHeight
}

// drawOn draws the lines and below them rows of panels, each row from the left to
// the right.
func (p *picture) drawOn(c vg.CanvasSizer) {
	whole := draw.New(c)
	drawHead(whole, p.head)
	height := whole.Max.Y - whole.Min.Y
	for i, row := range p.rows {
		top := whole.Max.Y - headHeight(p.head) - vg.Length(i)*panelHeight
		width := (whole.Max.X - whole.Min.X) / vg.Length(len(row))
		for j, panel := range row {
			left := whole.Min.X + vg.Length(j)*width
			panel.Draw(draw.Crop(whole,
				left-whole.Min.X+margin, left+width-whole.Max.X-margin,
				top-panelHeight+margin-whole.Min.Y, top-margin-(whole.Min.Y+height)))
		}
	}
}

func (p *picture) png() ([]byte, error) {
	w, h := p.size()
	c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))
	p.drawOn(c)
	var out bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(&out)
	return out.Bytes(), err
}

func (p *picture) svg() ([]byte, error) {
	c := vgsvg.New(p.size())
	p.drawOn(c)
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

// html is one page that needs nothing else.
func (p *picture) html(results []Result) ([]byte, error) {
	svg, err := p.svg()
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
	p.Legend.Left, p.Legend.Top, p.Legend.ThumbnailWidth, p.Legend.Padding = true, true, legendThumb, 2
	p.Legend.TextStyle.Font.Size = 10
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	p.Add(grid)
	return p
}
