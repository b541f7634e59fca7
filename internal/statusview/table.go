package statusview

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

const gap = 2 // blanks between columns

// table lines up columns, and makes them fit.
type table struct {
	rows [][]string // the header first
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

// fit leaves out the columns that say nothing, and shortens UUIDs where t is shown on a terminal.
func (t *table) fit(width int) {
	for i := len(t.rows[0]) - 1; i > 0; i-- { // the first one names the table
		if !slices.ContainsFunc(t.rows[1:], func(cells []string) bool { return cells[i] != "-" }) {
			for n := range t.rows {
				t.rows[n] = slices.Delete(t.rows[n], i, i+1)
			}
		}
	}
	for _, cells := range t.rows {
		for i := range cells {
			if width > 0 {
				cells[i] = shortUUIDs(cells[i])
			}
		}
	}
}
