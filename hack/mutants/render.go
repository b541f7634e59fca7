package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// mutant is one way to break a package.
type mutant struct {
	id         int // from 1, among the chosen
	file       *file
	line       int
	key        string // what and where, without the line, so that it lives through edits of other functions
	start, end int    // of the source that it replaces

	// wrap returns the text that behaves as inner unless m is chosen.
	wrap func(m *mutant, inner string) string
	// parts are the operands of a mutant that puts its text together from them, and has no use for inner.
	parts [][2]int
	build func(m *mutant, parts []string) string
}

func (m *mutant) on() string { return fmt.Sprintf("mutOn(%d)", m.id) }

// choose takes n mutants. Which ones depends on seed and on each one's key alone, so that a change of one
// function leaves the choice among the others as it was.
func choose(all []*mutant, n int, seed uint64, only string) []*mutant {
	all = slices.DeleteFunc(slices.Clone(all), func(m *mutant) bool { return !strings.Contains(m.key, only) })
	if n > 0 && n < len(all) {
		rank := func(m *mutant) string {
			sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, m.key))
			return string(sum[:])
		}
		slices.SortFunc(all, func(a, b *mutant) int { return strings.Compare(rank(a), rank(b)) })
		all = all[:n]
	}
	slices.SortFunc(all, func(a, b *mutant) int {
		return cmp.Or(strings.Compare(a.file.path, b.file.path), a.start-b.start, a.end-b.end, strings.Compare(a.key, b.key))
	})
	for i, m := range all {
		m.id = i + 1
	}
	return all
}

// render writes f with all of its mutants in it.
func render(f *file, ms []*mutant) []byte {
	ms = slices.DeleteFunc(slices.Clone(ms), func(m *mutant) bool { return m.file != f })
	slices.SortStableFunc(ms, func(a, b *mutant) int {
		return cmp.Or(a.start-b.start, b.end-a.end, len(b.parts)-len(a.parts))
	})
	return []byte(span(f.src, 0, len(f.src), ms))
}

// span writes src[start:end] with the mutants in it. ms has those that lie in the span, outer ones first.
func span(src []byte, start, end int, ms []*mutant) string {
	var out strings.Builder
	at := start
	for i := 0; i < len(ms); {
		first := ms[i]
		same := i
		for same < len(ms) && ms[same].start == first.start && ms[same].end == first.end {
			same++
		}
		last := same
		for last < len(ms) && ms[last].start < first.end {
			last++
		}
		inside := ms[same:last]
		out.Write(src[at:first.start])
		var text string
		if first.parts == nil {
			text = span(src, first.start, first.end, inside)
		}
		for _, m := range ms[i:same] {
			if m.parts == nil {
				text = m.wrap(m, text)
				continue
			}
			var parts []string
			for _, p := range m.parts {
				of := slices.DeleteFunc(slices.Clone(inside), func(c *mutant) bool { return c.start < p[0] || c.end > p[1] })
				parts = append(parts, span(src, p[0], p[1], of))
			}
			text = m.build(m, parts)
		}
		out.WriteString(text)
		at, i = first.end, last
	}
	out.Write(src[at:end])
	return out.String()
}

// helpers is the file that a broken package has besides its own.
func helpers(pkg string, n int) []byte { return fmt.Appendf(nil, helperText, pkg, n+1) }
