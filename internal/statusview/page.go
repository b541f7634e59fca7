package statusview

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
)

// page collects lines of text. It makes them harmless for a terminal, which wraps long lines itself.
type page struct {
	screen bool // the page must fit one screen: of many lines it shows the first
	text   strings.Builder
}

func (p *page) line(text string) { p.text.WriteString(printable(text) + "\n") }

// fieldf adds a text with a name before it.
func (p *page) fieldf(name, format string, args ...any) {
	p.line(fmt.Sprintf("%-9s ", name) + fmt.Sprintf(format, args...))
}

// fields adds n texts with one name before them; on a screen, only the first ones.
func (p *page) fields(name string, n int, text func(i int) string) {
	shown := min(n, p.most(sameLines))
	for i := range shown {
		p.fieldf(name, "%s", text(i))
	}
	if n > shown {
		p.fieldf(name, "... and %d more", n-shown)
	}
}

// most returns n on a screen, else no limit.
func (p *page) most(n int) int {
	if !p.screen {
		return math.MaxInt
	}
	return n
}

func (p *page) String() string { return p.text.String() }

// printable keeps text from elsewhere from breaking a line or controlling a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

type table struct {
	rows [][]string // the header first
}

func newTable(header ...string) *table { return &table{rows: [][]string{header}} }

// row adds a row. An empty cell becomes "-".
func (t *table) row(cells ...string) {
	for i, cell := range cells {
		if cells[i] = printable(cell); cell == "" {
			cells[i] = "-"
		}
	}
	t.rows = append(t.rows, cells)
}

// table adds t after an empty line, without empty columns; without rows, it adds no table. Then it says how many rows
// the caller has left out, and of what.
func (p *page) table(t *table, hidden int, what string) {
	if len(t.rows) > 1 {
		if p.text.Len() > 0 {
			p.line("")
		}
		var text strings.Builder
		w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		for _, cells := range t.rows {
			var shown []string
			for i, cell := range cells { // the first column names the table
				if i == 0 || slices.ContainsFunc(t.rows[1:], func(row []string) bool { return row[i] != "-" }) {
					shown = append(shown, cell)
				}
			}
			fmt.Fprintln(w, strings.Join(shown, "\t"))
		}
		_ = w.Flush() // a strings.Builder takes everything
		for l := range strings.Lines(text.String()) {
			p.line(strings.TrimRight(l, " \n"))
		}
	}
	if hidden > 0 {
		p.line(fmt.Sprintf("... and %d %s more", hidden, what))
	}
}

// hostName turns BMO's node name namespace~name into what commands take.
func hostName(name string) string { return strings.Replace(name, "~", "/", 1) }

// counted joins the counts that are not zero, such as "2 failed".
func counted(parts ...any) string {
	var out []string
	for ; len(parts) > 1; parts = parts[2:] {
		if n := fmt.Sprint(parts[0]); n != "0" {
			out = append(out, n+" "+fmt.Sprint(parts[1]))
		}
	}
	return strings.Join(out, ", ")
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
