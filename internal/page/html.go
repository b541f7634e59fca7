package page

import (
	"fmt"
	"html"
	"strings"
)

// markup is text that stands in a page as it is. A constant becomes one by itself. No other text is converted, so
// text of hosts, Ironic and askers is always escaped.
type markup string

// document is HTML as it is written.
type document struct{ strings.Builder }

// put writes format as Sprintf does, with every argument escaped that is not markup. Arguments stand between tags or
// within a quoted attribute, nowhere else.
func (d *document) put(format markup, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case markup, int, uint64:
		default:
			args[i] = html.EscapeString(strings.ToValidUTF8(fmt.Sprint(a), "\uFFFD"))
		}
	}
	fmt.Fprintf(d, string(format), args...)
}

// where returns text if yes is true.
func where(yes bool, text markup) markup {
	if yes {
		return text
	}
	return ""
}

// section begins one.
func (d *document) section(id, title markup) {
	d.put(`<section id="%s" aria-labelledby="h-%s"><h2 id="h-%s">%s</h2>
`, id, id, id, title)
}

// table writes one with a row for each of n. Columns of numbers begin with "n ".
func (d *document) table(caption string, columns string, n int, row func(i int)) {
	if n == 0 {
		return
	}
	d.put(`<div class="scroll" tabindex="0" role="group" aria-label="%s"><table><caption>%s</caption><thead><tr>`, caption, caption)
	for c := range strings.SplitSeq(columns, ", ") {
		name, number := strings.CutPrefix(c, "n ")
		d.put(`<th scope="col"%s>%s</th>`, where(number, ` class="n"`), name)
	}
	d.put(`</tr></thead><tbody>
`)
	for i := range n {
		row(i)
		d.put("</tr>\n")
	}
	d.put(`</tbody></table></div>`)
}

// numbers writes cells in columns of numbers.
func (d *document) numbers(all ...any) {
	for _, n := range all {
		d.put(`<td class="n">%s</td>`, fmt.Sprint(n))
	}
}
