package config

import (
	"strconv"
	"strings"
	"unicode"
)

// Fault is one thing that is wrong with one setting. Load joins all that it
// finds, so errors.As yields the first.
type Fault struct {
	Setting string // name as in docs/settings.md
	Value   string // as given, credentials masked; "" when there is none
	Source  string // where it was given
	Rule    string // what it breaks
}

// Error names setting, value, source and rule, on one line. Names of variables and the words of
// decoders may hold anything.
func (f *Fault) Error() string {
	s := f.Setting
	if f.Value != "" {
		s += "=" + quote(f.Value)
	}
	if f.Source != "" {
		s += " (" + f.Source + ")"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s+": "+f.Rule)
}

// Warning is something that the operator should know and that stops nothing.
type Warning string

// quote makes any text fit for one line of a log.
func quote(text string) string {
	const longest = 100
	if len(text) > longest {
		return strconv.Quote(text[:longest]) + "..."
	}
	return strconv.Quote(text)
}
