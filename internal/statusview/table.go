package statusview

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// narrowest is what a column is cut to at most.
const narrowest = 8

// table lines up columns, and makes them fit. Its cells must be harmless.
type table struct {
	rows    [][]string // the header first
	weights []weight
	spare   []string // the columns that a narrow terminal can do without, in this order
}

func newTable(header ...string) *table {
	t := &table{}
	t.row(heading, header...)
	return t
}

func (t *table) row(w weight, cells ...string) {
	t.rows, t.weights = append(t.rows, cells), append(t.weights, w)
}

// lines is the table after an empty line, and how many rows of what it leaves
// out; nothing when it has no rows.
func (t *table) lines(s space, hidden int, what string) []line {
	if len(t.rows) == 1 {
		return nil
	}
	if more := len(t.rows) - 1 - s.rows; s.rows > 0 && more > 0 {
		t.rows, hidden = t.rows[:1+s.rows], hidden+more
	}
	t.fit(s.width)
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, gap, ' ', 0)
	for _, cells := range t.rows {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a strings.Builder takes everything
	out := []line{{}}
	for i, text := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		out = append(out, line{strings.TrimRight(text, " "), t.weights[i]})
	}
	if hidden > 0 {
		out = append(out, line{fmt.Sprintf("... and %d %s more", hidden, what), usual})
	}
	return out
}

const gap = 2 // blanks between columns

// fit makes t as narrow as width, 0 = any, as far as it can: UUIDs are shortened, then empty
// columns and spare ones go, then the widest cells are cut.
func (t *table) fit(width int) {
	tooWide := func() bool { return width > 0 && sum(t.widths()) > width }
	if tooWide() {
		t.each(func(_ int, cell string) string { return shortUUIDs(cell) })
	}
	for _, header := range slices.Concat(t.empty(), t.spare) {
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
	empty := slices.Clone(t.rows[0])
	for _, cells := range t.rows[1:] {
		empty = slices.DeleteFunc(empty, func(header string) bool {
			cell := cells[slices.Index(t.rows[0], header)]
			return cell != "" && cell != "-"
		})
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
