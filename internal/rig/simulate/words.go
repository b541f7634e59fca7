package simulate

import "fmt"

// didYouMean ends an error with the word that was probably meant, if any is near.
func didYouMean[T ~string](word T, known []T) string {
	const near = 2
	best, away := T(""), near+1
	for _, k := range known {
		if d := distance(string(word), string(k)); d < away && d < len(k) {
			best, away = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// distance is the Levenshtein distance of a and b in bytes, of a long a at least
// of what is beyond b.
func distance(a, b string) int {
	if len(a) > 2*len(b) {
		return len(a) - len(b)
	}
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
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
