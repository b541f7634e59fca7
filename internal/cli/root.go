package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Root completes root, the command of a program, and returns it: it adds --output, --version, the command version, and
// commands.
func (p *Process) Root(root *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	root.Version = Version()
	root.SilenceErrors, root.SilenceUsage, root.SuggestionsMinimumDistance = true, true, 2
	root.PersistentFlags().FuncP("output", "o", "`format` of the output: text (the default) or json", func(format string) error {
		if p.JSON = format == "json"; !p.JSON && format != "text" {
			return errors.New("must be text or json")
		}
		return nil
	})
	root.AddCommand(commands...)
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "print the version", Args: NoArgs,
		Long: "Prints version, commit, Go version and platform of this binary.",
		RunE: func(*cobra.Command, []string) error { return p.printVersion(root.Name()) },
	})
	return root
}

// NoArgs refuses arguments, with a hint about a switch and its value.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%q belongs to no flag, and '%s' takes no arguments; a switch takes its value with '='",
		args[0], cmd.CommandPath())
}
