package simulate

import (
	"bytes"
	"fmt"
	"html/template"
	"os"
	"path/filepath"

	"github.com/ironic-throttle/ironic-throttle/internal/svg"
)

// writePicture draws the results into the file g.Plot, of the kind that its name
// says.
func (g *Grid) writePicture(version string, results []Result) error {
	sheet := svg.Sheet{Heading: g.heading(version, results), Rows: panels(results, g.growing())}
	text := sheet.SVG()
	if filepath.Ext(g.Plot) == ".html" {
		var err error
		if text, err = htmlPage(text, results); err != nil {
			return err
		}
	}
	return os.WriteFile(g.Plot, text, 0o644) //nolint:gosec // a picture is there to be shown
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

// htmlPage is one page that needs nothing else: the picture and the table.
func htmlPage(picture []byte, results []Result) ([]byte, error) {
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
	err := page.Execute(&out, struct {
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
