package statusview

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	gap       = 2 // blanks between columns
	narrowest = 8 // what a column is cut to at most
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
		p.text.WriteByte('\n')
		p.rows(t, under)
	}
	if hidden > 0 {
		p.cut(fmt.Sprintf("... and %d %s more", hidden, what))
	}
}

// rows adds t without the line before it.
func (p *page) rows(t *table, under func(row int)) {
	t.fit(p.width)
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, gap, ' ', 0)
	for _, cells := range t.rows {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a strings.Builder takes everything
	for i, l := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		p.text.WriteString(strings.TrimRight(l, " ") + "\n")
		if i > 0 && under != nil {
			under(i - 1)
		}
	}
}

// fit leaves out the columns that say nothing and makes t as narrow as width, 0 = any, as far as it can: UUIDs are
// shortened, then spare columns go, then the widest cells are cut.
func (t *table) fit(width int) {
	for _, header := range t.empty() {
		t.drop(header)
	}
	tooWide := func() bool { return width > 0 && sum(t.widths()) > width }
	if tooWide() {
		t.each(func(_ int, cell string) string { return shortUUIDs(cell) })
	}
	for _, header := range t.spare {
		if tooWide() {
			t.drop(header)
		}
	}
	if !tooWide() {
		return
	}
	most := t.widths()
	for sum(most) > width {
		i := slices.Index(most, slices.Max(most))
		if most[i] <= narrowest {
			break
		}
		most[i]--
	}
	t.each(func(column int, cell string) string {
		if column < len(most)-1 {
			return cutMiddle(cell, most[column]-gap)
		}
		return cutMiddle(cell, most[column])
	})
}

// widths are those of the columns, each with the gap after it.
func (t *table) widths() []int {
	widths := make([]int, len(t.rows[0]))
	t.each(func(column int, cell string) string {
		wide := columns(cell)
		if column < len(widths)-1 {
			wide += gap
		}
		widths[column] = max(widths[column], wide)
		return cell
	})
	return widths
}

func sum(widths []int) (total int) {
	for _, w := range widths {
		total += w
	}
	return total
}

// each replaces every cell.
func (t *table) each(by func(column int, cell string) string) {
	for _, cells := range t.rows {
		for i, cell := range cells {
			cells[i] = by(i, cell)
		}
	}
}

// empty are the headers of the columns that say nothing.
func (t *table) empty() []string {
	empty := slices.Clone(t.rows[0][1:]) // the first one names the table
	for _, cells := range t.rows[1:] {
		empty = slices.DeleteFunc(empty, func(header string) bool { return cells[slices.Index(t.rows[0], header)] != "-" })
	}
	return empty
}

// drop takes a column out, if it is there.
func (t *table) drop(header string) {
	if i := slices.Index(t.rows[0], header); i >= 0 {
		for n := range t.rows {
			t.rows[n] = slices.Delete(t.rows[n], i, i+1)
		}
	}
}
