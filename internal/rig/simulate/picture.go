package simulate

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/svg"
)

// writePicture draws the results into the file g.Plot, of the kind that its name
// says.
func (g *Grid) writePicture(version string, results []Result) error {
	sheet := svg.Sheet{Heading: g.heading(version, results), Rows: panels(results, g.growing())}
	text := sheet.SVG()
	if filepath.Ext(g.Plot) == ".html" {
		text = htmlPage(text, results)
	}
	return os.WriteFile(g.Plot, text, 0o644)
}

// pageHead is the begin of a page; its title stands in it twice. The page is not
// a template: a program that executes one keeps every exported method of every library,
// 9 MB of ours.
const pageHead = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>%[1]s</title>
<style>
body { font-family: Arial, Helvetica, sans-serif; margin: 2em auto; max-width: 1000px; color: #222; background: #fff }
svg { width: 100%%; height: auto }
table { border-collapse: collapse; margin: 1em 0 }
td, th { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left }
</style>
<h1>%[1]s</h1>
`

// htmlPage is one page that needs nothing else: the picture and the table.
func htmlPage(picture []byte, results []Result) []byte {
	first := results[0]
	var out bytes.Buffer
	fmt.Fprintf(&out, pageHead, fmt.Sprintf("A storm of %d hosts", first.Hosts))
	fmt.Fprintf(&out, "<p>Simulated by ironic-throttle. All %d hosts want to be provisioned at the same moment, asked via %s. "+
		"What works is the truth inside the simulated Ironic, what is occupied the count of the rule.</p>\n",
		first.Hosts, html.EscapeString(string(first.Via)))
	out.Write(picture)
	out.WriteString("<table>\n")
	for i, row := range tableRows(results) {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		fmt.Fprintf(&out, "<tr><%[1]s>%[2]s</%[1]s>", tag, html.EscapeString(row.name))
		for _, r := range results {
			fmt.Fprintf(&out, "<%[1]s>%[2]s</%[1]s>", tag, html.EscapeString(row.of(r)))
		}
		out.WriteString("</tr>\n")
	}
	out.WriteString("</table>\n</html>\n")
	return out.Bytes()
}
