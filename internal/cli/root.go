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
	words := "text or json"
	if wide != nil {
		words = "text, wide or json"
	}
	fs.VarP(&format{json: &p.JSON, wide: wide, words: words, now: "text"}, "output", "o", "what is printed: "+words)
}

// format is --output.
type format struct {
	json, wide *bool // wide: nil where there is no more to show
	words, now string
}

// String implements pflag.Value.
func (f *format) String() string { return f.now }

// Type implements pflag.Value.
func (f *format) Type() string { return "format" }

// Set implements pflag.Value.
func (f *format) Set(text string) error {
	if text != "text" && text != "json" && (text != "wide" || f.wide == nil) {
		return errors.New("must be " + f.words)
	}
	f.now, *f.json = text, text == "json"
	if f.wide != nil {
		*f.wide = text == "wide"
	}
	return nil
}
