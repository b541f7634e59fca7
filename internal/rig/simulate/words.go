package simulate

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
)

// FlagError says in the words of a user what is wrong with the value of a flag:
// flag, value and rule. Any other error it returns as it is.
func FlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	rule, ok := rules[flag.Value.Type()]
	if !ok {
		rule = errors.Unwrap(invalid).Error()
	}
	if errors.Is(err, strconv.ErrRange) {
		rule += ", within 64 bits"
	}
	return fmt.Errorf("--%s %q: %s", flag.Name, invalid.GetValue(), rule)
}

// rules say what the values of flags must be, by the type of the flag.
var rules = map[string]string{
	"int":         "must be a whole number",
	"uint":        "must be a whole number of at least 0",
	"uint64":      "must be a whole number of at least 0",
	"intSlice":    "must be whole numbers, such as 10,20",
	"uintSlice":   "must be whole numbers of at least 0, such as 1,2",
	"float64":     "must be a number",
	"bool":        "must be true or false",
	"stringSlice": "must be words, such as a,b",
	"duration":    "must be a duration, such as 90m or 4h",
	"durations":   "must be durations, such as 0s,2h",
	"span":        "must be a duration or a range MIN-MAX, such as 10m-60m",
}

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
