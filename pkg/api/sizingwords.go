package api

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lines say what is known of the limits, one line each: the limit in force, what should become of
// it, and why. Pools of which nothing is known that differs from what is set are left out; the
// total is always there.
func (s Sizing) Lines() []string {
	var all []string
	for _, p := range s.Pools {
		switch text := p.words(s.Mode == LimitAdaptive); {
		case p.Pool == "":
			all = append(all, text)
		case p.Verdict != SizingUnknown || p.Limit != p.Ceiling:
			all = append(all, p.Pool+": "+text)
		}
	}
	return all
}

func (p PoolSizing) words(adaptive bool) string {
	text := fmt.Sprintf("%d (fixed)", p.Limit)
	if adaptive {
		text = fmt.Sprintf("%d of at most %d (adaptive)", p.Limit, p.Ceiling)
	}
	switch {
	case p.Verdict == SizingUnknown:
		text += ": not enough evidence yet."
	case adaptive, p.Recommended == p.Limit:
		text += ": " + p.Verdict + "."
	default:
		text += fmt.Sprintf(", recommended limit: %d.", p.Recommended)
	}
	if p.Evidence != "" {
		text += " " + sentence(p.Evidence)
	}
	return text
}

func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}
