package page

import (
	"fmt"
	"html"
	"strings"
)

// markup is text that stands in a page as it is. A constant becomes one by itself; no other text is
// converted, so what hosts, Ironic or an asker wrote is always escaped.
type markup string

// document is HTML as it is written.
type document struct{ strings.Builder }

// put writes format as Sprintf does, with every argument escaped that is not markup. Arguments stand
// between tags or within a quoted attribute, nowhere else.
func (d *document) put(format markup, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case markup, int, uint64:
		case string:
			args[i] = escaped(a)
		default:
			args[i] = escaped(fmt.Sprint(a))
		}
	}
	fmt.Fprintf(d, string(format), args...)
}

func escaped(text string) string { return html.EscapeString(strings.ToValidUTF8(text, "\uFFFD")) }

// where returns text if yes is true.
func where(yes bool, text markup) markup {
	if yes {
		return text
	}
	return ""
}
