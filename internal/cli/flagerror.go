package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
)

// FlagError adds to an unknown flag the one that is like it, and says of a value that cannot be read which rule it
// breaks.
func FlagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &missing):
		const typo, least = 2, 2
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if name := missing.GetSpecifiedName(); len(name) >= least && len(known) > 0 {
			if near, away := nearest.Word(name, known); away <= typo {
				return fmt.Errorf("%w; did you mean --%s?", err, near)
			}
		}
	case errors.As(err, &invalid):
		flag, cause := invalid.GetFlag(), errors.Unwrap(invalid)
		rule := cmp.Or(valueRules[flag.Value.Type()], cause.Error())
		if errors.Is(cause, strconv.ErrRange) {
			rule += ", within 64 bits"
		}
		return fmt.Errorf("--%s %q: %s", flag.Name, invalid.GetValue(), rule)
	}
	return err
}

// valueRules say what the values of flags must be, by the type of the flag.
var valueRules = map[string]string{
	"int":         "must be a whole number",
	"uint":        "must be a whole number of at least 0",
	"uint64":      "must be a whole number of at least 0",
	"intSlice":    "must be whole numbers, such as 10,20",
	"uintSlice":   "must be whole numbers of at least 0, such as 1,2",
	"float64":     "must be a number",
	"bool":        "must be true or false",
	"stringSlice": "must be words, such as a,b",
	"duration":    "must be a duration, such as 90m or 4h",
}
