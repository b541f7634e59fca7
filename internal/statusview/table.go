package statusview

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	gap       = 2 // blanks between columns
	narrowest = 8 // what a cell is cut to at most
)

// table lines up columns, and makes them fit.
type table struct {
	rows  [][]string // the header first
	spare []string   // the columns that a narrow terminal can do without, in this order
}

func newTable(header ...string) *table { return &table{rows: [][]string{header}} }

// row adds a row; an empty cell is shown as "-".
func (t *table) row(cells ...string) {
	for i, cell := range cells {
		if cells[i] = printable(cell); cell == "" {
			cells[i] = "-"
		}
	}
	t.rows = append(t.rows, cells)
}

// table adds t after an empty line, and how many rows of what it leaves out; nothing where it has no rows. Below each
// row stands what under adds; nil: nothing.
func (p *page) table(t *table, hidden int, what string, under func(row int)) {
	if len(t.rows) > 1 {
		if p.text.Len() > 0 {
			p.text.WriteByte('\n')
		}
		t.fit(p.width)
		var text strings.Builder
		w := tabwriter.NewWriter(&text, 0, 0, gap, ' ', 0)
		for _, cells := range t.rows {
			fmt.Fprintln(w, strings.Join(cells, "\t"))
		}
		_ = w.Flush() // a strings.Builder takes everything
		for i, l := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
			p.cut(strings.TrimRight(l, " "))
			if i > 0 && under != nil {
				under(i - 1)
			}
		}
	}
	if hidden > 0 {
		p.cut(fmt.Sprintf("... and %d %s more", hidden, what))
	}
}

// fit leaves out the columns that say nothing, and makes t as narrow as width, 0 = any, as far as it can: UUIDs are
// shortened, spare columns go, and cells of more than half of the width are cut.
func (t *table) fit(width int) {
	for _, header := range slices.Clone(t.rows[0][1:]) { // the first one names the table
		i := slices.Index(t.rows[0], header)
		if !slices.ContainsFunc(t.rows[1:], func(cells []string) bool { return cells[i] != "-" }) {
			t.drop(header)
		}
	}
	if width <= 0 || t.width() <= width {
		return
	}
	for _, cells := range t.rows {
		for i := range cells {
			cells[i] = cutMiddle(shortUUIDs(cells[i]), max(narrowest, width/2))
		}
	}
	for _, header := range t.spare {
		if t.width() > width {
			t.drop(header)
		}
	}
}

// width is that of the widest row.
func (t *table) width() int {
	total := -gap
	for i := range t.rows[0] {
		widest := 0
		for _, cells := range t.rows {
			widest = max(widest, columns(cells[i]))
		}
		total += widest + gap
	}
	return total
}

// drop takes a column out, if it is there.
func (t *table) drop(header string) {
	if i := slices.Index(t.rows[0], header); i >= 0 {
		for n := range t.rows {
			t.rows[n] = slices.Delete(t.rows[n], i, i+1)
		}
	}
}

// cutMiddle cuts names, which differ at their ends.
func cutMiddle(text string, width int) string {
	letters := []rune(text)
	if len(letters) <= width {
		return text
	}
	tail := width / 2
	return string(letters[:width-1-tail]) + "…" + string(letters[len(letters)-tail:])
}
