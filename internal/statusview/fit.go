package statusview

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// space is where lines have to fit. The zero value has room for everything: what a pipe or
// a file gets is whole.
type space struct {
	width int  // characters of a line
	rows  int  // of each table
	brief bool // what matters least is left out
}

// folds is how many lines a long text is broken into.
func (s space) folds() int {
	if s.brief {
		return 2
	}
	return 3
}

const (
	// unfolded is a width below which nothing is broken, only cut.
	unfolded = 20
	// fieldIndent is where the text of a field begins.
	fieldIndent = 10
)

// columns is how wide text is on a terminal, as far as its letters are usual ones.
func columns(text string) int { return utf8.RuneCountInString(text) }

var uuid = regexp.MustCompile(`\b([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

// shortUUIDs leaves of each UUID what tells one node from another.
func shortUUIDs(text string) string { return uuid.ReplaceAllString(text, "$1…") }

// fold makes a line fit: UUIDs are shortened, then it is broken at blanks, and
// at last cut. All lines but the first are indented.
func fold(l line, s space, indent int) []line {
	width := s.width
	if width <= 0 || columns(l.text) <= width {
		return []line{l}
	}
	l.text = shortUUIDs(l.text)
	if width < unfolded {
		return []line{{clip(l.text, width), l.weight}}
	}
	var out []line
	rest := l.text
	for columns(rest) > width && len(out) < s.folds()-1 {
		head := string([]rune(rest)[:width+1])
		at := strings.LastIndex(head, " ")
		if strings.TrimSpace(head[:max(at, 0)]) == "" { // one long word
			head = string([]rune(rest)[:width])
			at = len(head)
		}
		out = append(out, line{rest[:at], l.weight})
		rest = strings.Repeat(" ", indent) + strings.TrimLeft(rest[at:], " ")
	}
	return append(out, line{clip(rest, width), l.weight})
}

// foldAll folds each of lines.
func foldAll(lines []line, s space, indent int) []line {
	var out []line
	for _, l := range lines {
		out = append(out, fold(l, s, indent)...)
	}
	return out
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

// fitted is c within a screen; whole tells that nothing is left out. What matters least goes
// first, then rows of the tables, until each has one.
func fitted(c Content, width, height int) (out []line, whole bool) {
	const few = 8 // rows, which matter more than what matters least
	if out = lines(c, space{width: width}); len(out) <= height {
		return out, true
	}
	for _, s := range []struct {
		fewest int
		brief  bool
	}{{few, false}, {1, true}} {
		rows := max(height, s.fewest)
		less := sort.Search(rows-s.fewest, func(less int) bool {
			return len(lines(c, space{width, rows - less, s.brief})) <= height
		})
		if out = lines(c, space{width, rows - less, s.brief}); len(out) <= height {
			return out, false
		}
	}
	// Not even the fields fit, perhaps: what alarms is seen even then.
	least := space{width: width, brief: true}
	if len(fieldLines(c, least)) > height {
		top := len(headline(c, least))
		slices.SortStableFunc(out[top:], func(a, b line) int { return min(int(alarming-a.weight), 1) - min(int(alarming-b.weight), 1) })
	}
	return out[:height], false
}
