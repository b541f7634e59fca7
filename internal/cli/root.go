package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Root makes root, which says what a program is for, the command of that program: with --output, --version, version,
// help, and these commands.
func (p *Process) Root(root *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	root.Version = Version()
	root.SilenceErrors, root.SilenceUsage, root.SuggestionsMinimumDistance = true, true, 2
	p.Output(root.PersistentFlags(), nil)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(commands...)
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "print the version", Args: NoArgs,
		Long: "Prints version, commit, Go version and platform of this binary.",
		RunE: func(*cobra.Command, []string) error { return p.printVersion(root.Name()) },
	})
	return root
}

// NoArgs refuses words that belong to no flag.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%q belongs to no flag, and '%s' takes no arguments; a switch takes its value with '='",
		args[0], cmd.CommandPath())
}

// flagError says of a value that cannot be read which rule it breaks.
func flagError(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag, rule := invalid.GetFlag(), errors.Unwrap(invalid).Error()
	switch {
	case strings.HasPrefix(rule, "must "): // else they are Go's own words
	case flag.Value.Type() == "duration":
		rule = "must be a duration with its unit, such as 30m"
	default:
		rule = "must be of type " + flag.Value.Type()
	}
	return fmt.Errorf("--%s %q: %s", flag.Name, invalid.GetValue(), rule)
}

// Output adds --output to fs: text or json, and wide where a command has more to show.
func (p *Process) Output(fs *pflag.FlagSet, wide *bool) {
	words := "text (the default) or json"
	if wide != nil {
		words = "text (the default), wide or json"
	}
	fs.FuncP("output", "o", "`format` of what is printed: "+words, func(format string) error {
		if format != "text" && format != "json" && (format != "wide" || wide == nil) {
			return errors.New("must be " + strings.Replace(words, " (the default)", "", 1))
		}
		p.JSON = format == "json"
		if wide != nil {
			*wide = format == "wide"
		}
		return nil
	})
}
