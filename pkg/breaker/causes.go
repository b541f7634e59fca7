package breaker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Cause is failures with the same text.
type Cause struct {
	// Text is that of the error, cut to 200 bytes.
	Text string
	// Count is how many failures there were.
	Count int
	// Hosts names up to five of those that failed, in the order in which they did.
	Hosts []string
}

// causeOf returns the text that err is grouped by (CB-23).
func causeOf(err error) string {
	if err == nil {
		return "unknown error"
	}
	text := err.Error()
	if len(text) <= maxCauseBytes {
		return text
	}
	end := maxCauseBytes - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// causesOf groups failures: the most frequent first, then by text. No host is among
// them twice, since it counts once.
func causesOf(failures []entry) []Cause {
	index := map[string]int{}
	var causes []Cause
	for _, e := range failures {
		f := e.failure
		i, known := index[f.cause]
		if !known {
			i = len(causes)
			index[f.cause] = i
			causes = append(causes, Cause{Text: f.cause})
		}
		c := &causes[i]
		c.Count++
		if f.host != "" && len(c.Hosts) < maxCauseHosts {
			c.Hosts = append(c.Hosts, f.host)
		}
	}
	slices.SortFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
	return causes[:min(len(causes), maxCauses)]
}

// nameCauses lists the first causes with their counts (CB-7).
func nameCauses(causes []Cause) string {
	var names []string
	for _, c := range causes[:min(len(causes), messageCauses)] {
		names = append(names, fmt.Sprintf("%s (%d)", c.Text, c.Count))
	}
	if len(causes) > messageCauses {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}
