package simulate

import (
	"fmt"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
)

// didYouMean ends an error with the word that was probably meant, if any is near.
func didYouMean[T ~string](word T, known []T) string {
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	const near = 2
	best, away := nearest.Word(string(word), words)
	if away > near || away >= len(best) {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}
