// Package nearest finds the word that somebody meant who misspelt it.
package nearest

import "strings"

// Word returns the word of known with the smallest edit distance to name, the first of equals, and that distance. Case,
// dashes and underscores do not count, so that a name in the spelling of another source is found. known must not be
// empty.
func Word(name string, known []string) (word string, away int) {
	const longest = 256 // enough for any name, bounds the work for any text
	if len(name) > longest {
		name = name[:longest]
	}
	name = folded(name)
	for i, k := range known {
		if d := distance(name, folded(k)); i == 0 || d < away {
			word, away = k, d
		}
	}
	return word, away
}

// Host is the one of known, NAMESPACE/NAME each, whose NAME host is, or that is spelt nearly so; "" = none.
func Host(host string, known []string) string {
	for _, one := range known {
		if _, name, ok := strings.Cut(one, "/"); ok && name == host {
			return one
		}
	}
	if len(known) > 0 {
		const typo = 2
		if one, away := Word(host, known); away <= typo {
			return one
		}
	}
	return ""
}

func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// distance is the Levenshtein distance of a and b in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			above := row[j+1]
			row[j+1] = min(diagonal+cost, above+1, row[j]+1)
			diagonal = above
		}
	}
	return row[len(b)]
}
