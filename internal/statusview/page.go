package statusview

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// page collects lines of a terminal that is width characters wide; 0: they may have any length, as a pipe or a file gets
// everything. What it is given is made harmless for a terminal.
type page struct {
	width int
	text  strings.Builder
}

const (
	// fieldIndent is where the text of a field begins.
	fieldIndent = 10
	// maxFolds is how many lines a long text is broken into.
	maxFolds = 3
	// unfolded is a width below which nothing is broken, only cut.
	unfolded = 20
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
	rest := shortUUIDs(text)
	if width < unfolded {
		return []string{clip(rest, width)}
	}
	var out []string
	for columns(rest) > width && len(out) < maxFolds-1 {
		head := string([]rune(rest)[:width+1])
		at := strings.LastIndex(head, " ")
		if strings.TrimSpace(head[:max(at, 0)]) == "" { // one long word
			head = string([]rune(rest)[:width])
			at = len(head)
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

// cutMiddle is clip for names, which differ at their ends.
func cutMiddle(text string, width int) string {
	letters := []rune(text)
	if len(letters) <= width {
		return text
	}
	tail := width / 2
	return string(letters[:width-1-tail]) + "…" + string(letters[len(letters)-tail:])
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

// age is a number of seconds, to the second.
func age(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// hostName turns BMO's node name namespace~name into what check takes.
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
