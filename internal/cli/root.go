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
	var showVersion bool
	root.Args = NoSuchCommand
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if showVersion {
			return p.printVersion(root.Name())
		}
		return cmd.Help()
	}
	root.SilenceErrors, root.SilenceUsage, root.SuggestionsMinimumDistance = true, true, 2
	root.Flags().BoolVar(&showVersion, "version", false, "print the version, as 'version' does")
	p.Output(root.PersistentFlags(), nil)
	// It fails only for a flag that does not exist.
	_ = root.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]cobra.Completion{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	root.SetFlagErrorFunc(FlagError)
	root.AddCommand(commands...)
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "print the version", Args: NoArgs,
		Long: "Prints version, commit, Go version and platform of this binary.",
		RunE: func(*cobra.Command, []string) error { return p.printVersion(root.Name()) },
	})
	return root
}

// NoSuchCommand refuses what is no command and names those that are like it.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	}
	return err
}

// NoArgs refuses words that belong to no flag.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("%q belongs to no flag, and '%s' takes no arguments", args[0], cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.NoOptDefVal != "" && f.Value.Set(args[0]) == nil {
			err = fmt.Errorf("%[1]q belongs to no flag; a switch takes its value with '=': --%[2]s=%[1]s", args[0], f.Name)
		}
	})
	return err
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
