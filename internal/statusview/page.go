package statusview

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// page collects lines of a terminal that is width characters wide; 0: they may have any length, as a pipe or a file gets
// everything. What it is given is made harmless for a terminal.
type page struct {
	width int
	text  strings.Builder
}

const (
	fieldIndent = 10 // where the text of a field begins
	maxFolds    = 3  // lines into which a long text is broken
	unfolded    = 20 // a width below which nothing is broken, only cut
)

// say adds text, broken at blanks where it is too long; all its lines but the first are indented.
func (p *page) say(indent int, text string) {
	for _, l := range fold(printable(text), p.width, indent) {
		p.text.WriteString(l + "\n")
	}
}

// fieldf adds a text with a name before it.
func (p *page) fieldf(name, format string, args ...any) {
	p.say(fieldIndent, fmt.Sprintf("%-9s ", name)+fmt.Sprintf(format, args...))
}

// fields adds n texts of one name, on a terminal the first ones.
func (p *page) fields(name string, n int, text func(i int) string) {
	shown := min(n, p.most(sameLines))
	for i := range shown {
		p.fieldf(name, "%s", text(i))
	}
	if n > shown {
		p.fieldf(name, "... and %d more", n-shown)
	}
}

// most is n on a terminal; a pipe gets all.
func (p *page) most(n int) int {
	if p.width == 0 {
		return math.MaxInt
	}
	return n
}

// cut adds text as one line, of which what does not fit is cut off.
func (p *page) cut(text string) { p.text.WriteString(clip(printable(text), p.width) + "\n") }

// whole adds text as it is, however long: it can be pasted.
func (p *page) whole(text string) { p.text.WriteString(printable(text) + "\n") }

func (p *page) String() string { return p.text.String() }

// columns is how wide text is on a terminal, as far as its letters are usual ones.
func columns(text string) int { return utf8.RuneCountInString(text) }

var uuid = regexp.MustCompile(`\b([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

// shortUUIDs leaves of each UUID what tells one node from another.
func shortUUIDs(text string) string { return uuid.ReplaceAllString(text, "$1…") }

// fold makes text fit: UUIDs are shortened, then it is broken at blanks, and at last cut.
func fold(text string, width, indent int) []string {
	if width <= 0 || columns(text) <= width {
		return []string{text}
	}
	var out []string
	rest := shortUUIDs(text)
	for columns(rest) > width && len(out) < maxFolds-1 && width >= unfolded {
		letters := []rune(rest)
		at := strings.LastIndex(string(letters[:width+1]), " ")
		if strings.TrimSpace(rest[:max(at, 0)]) == "" { // one long word
			at = len(string(letters[:width]))
		}
		out = append(out, rest[:at])
		rest = strings.Repeat(" ", indent) + strings.TrimLeft(rest[at:], " ")
	}
	return append(out, clip(rest, width))
}

// clip cuts the end of text off that is beyond width.
func clip(text string, width int) string {
	if width <= 0 || columns(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// printable keeps foreign text from breaking a line or steering a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// age is a number of seconds as people read it.
func age(seconds float64) string { return api.Seconds(seconds) }

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
