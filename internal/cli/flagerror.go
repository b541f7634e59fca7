package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagError adds to an unknown flag those that are like it, and says of a value that cannot
// be read which rule it breaks.
func FlagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return valueError(err)
	}
	if len(missing.GetSpecifiedName()) < 2 {
		return err
	}
	// cobra knows how to find near names, of commands only.
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	if near := names.SuggestionsFor(missing.GetSpecifiedName()); len(near) > 0 {
		return fmt.Errorf("%w; did you mean --%s?", err, strings.Join(near, " or --"))
	}
	return err
}

// valueError says in the words of a user what is wrong with the value of a flag: flag,
// value and rule. Any other error it returns as it is.
func valueError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	rule, ok := valueRules[flag.Value.Type()]
	if !ok {
		rule = errors.Unwrap(invalid).Error()
	}
	if errors.Is(err, strconv.ErrRange) {
		rule += ", within 64 bits"
	}
	return fmt.Errorf("--%s %q: %s", flag.Name, invalid.GetValue(), rule)
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
