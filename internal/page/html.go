package page

import (
	"fmt"
	"html"
	"strings"
)

// markup is text that goes into a page as it is. A constant becomes markup by itself. The package converts no other
// text, so put escapes all text of hosts, Ironic and clients.
type markup string

// document collects HTML.
type document struct{ strings.Builder }

// put writes format as Sprintf does, and escapes every argument that is not markup. Arguments may only be between tags
// or within a quoted attribute.
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

func (d *document) section(id, title markup) {
	d.put(`<section id="%s" aria-labelledby="h-%s"><h2 id="h-%s">%s</h2>
`, id, id, id, title)
}

// table writes a table with n rows. The names of columns of numbers begin with "n ".
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

func (d *document) numbers(all ...any) {
	for _, n := range all {
		d.put(`<td class="n">%s</td>`, fmt.Sprint(n))
	}
}
