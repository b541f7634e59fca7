package cli

import (
	"errors"
	"fmt"
	"strings"

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
		flag, rule := invalid.GetFlag(), errors.Unwrap(invalid).Error()
		if !strings.HasPrefix(rule, "must ") { // Go's own words
			rule = "must be of type " + flag.Value.Type()
			if flag.Value.Type() == "duration" {
				rule = "must be a duration with its unit, such as 30m"
			}
		}
		return fmt.Errorf("--%s %q: %s", flag.Name, invalid.GetValue(), rule)
	}
	return err
}
