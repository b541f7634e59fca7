package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
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
	root.PersistentFlags().VarP(&formatFlag{json: &p.JSON}, "output", "o", "what is printed: text or json")
	// It fails only for a flag that does not exist.
	_ = root.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]cobra.Completion{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	root.SetFlagErrorFunc(FlagError)
	root.AddCommand(commands...)
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "print the version", Args: cobra.NoArgs,
		Long: "Prints version, commit, Go version and platform of this binary.",
		RunE: func(*cobra.Command, []string) error { return p.printVersion(root.Name()) },
	})
	root.SetHelpCommand(helpCommand(root))
	return root
}

// helpCommand is cobra's, but an unknown command is wrong use here too.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "show the help of a command",
		ValidArgsFunction: func(
			_ *cobra.Command, args []string, begun string,
		) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if cmd, rest, err := root.Find(args); err == nil && len(rest) == 0 {
				for _, sub := range cmd.Commands() {
					if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), begun) {
						names = append(names, sub.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return NoSuchCommand(root, args)
			}
			return cmd.Help()
		},
	}
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

// formatFlag is --output.
type formatFlag struct{ json *bool }

// String implements pflag.Value.
func (f *formatFlag) String() string {
	if f.json != nil && *f.json {
		return "json"
	}
	return "text"
}

// Type implements pflag.Value.
func (f *formatFlag) Type() string { return "format" }

// Set implements pflag.Value.
func (f *formatFlag) Set(text string) error {
	if text != "text" && text != "json" {
		return errors.New("must be text or json")
	}
	*f.json = text == "json"
	return nil
}
