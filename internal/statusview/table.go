package statusview

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// table lines up columns. Its cells must be harmless.
type table struct {
	text    strings.Builder
	w       *tabwriter.Writer
	weights []weight
}

func newTable(header ...string) *table {
	t := &table{}
	t.w = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	t.row(heading, header...)
	return t
}

func (t *table) row(w weight, cells ...string) {
	t.weights = append(t.weights, w)
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
}

// lines is the table after an empty line, and how many rows of what it leaves
// out; nothing when it has no rows.
func (t *table) lines(hidden int, what string) []line {
	if len(t.weights) == 1 {
		return nil
	}
	_ = t.w.Flush() // a strings.Builder takes everything
	out := []line{{}}
	for i, text := range strings.Split(strings.TrimSuffix(t.text.String(), "\n"), "\n") {
		out = append(out, line{strings.TrimRight(text, " "), t.weights[i]})
	}
	if hidden > 0 {
		out = append(out, line{fmt.Sprintf("... and %d %s more", hidden, what), usual})
	}
	return out
}
