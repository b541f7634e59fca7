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

// Error names setting, value, source and rule, on one line.
func (f *Fault) Error() string {
	s := f.Setting
	if f.Value != "" {
		s += "=" + quote(f.Value)
	}
	if f.Source != "" {
		s += " (" + f.Source + ")"
	}
	return oneLine(s + ": " + f.Rule)
}

// oneLine keeps names of variables and the words of decoders, which may hold
// anything, from breaking a terminal or a log.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, text)
}

// Warning is something that the operator should know and that stops nothing.
type Warning string

// longest text of a value that is repeated in a message.
const maxShown = 100

// quote makes any text fit for one line of a log.
func quote(text string) string {
	if len(text) > maxShown {
		return strconv.Quote(text[:maxShown]) + "..."
	}
	return strconv.Quote(text)
}
