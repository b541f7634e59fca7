package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const rootHelp = `ironic-throttle watches what OpenStack Ironic does, hands out a fixed number of
provisioning slots, never one more, and tells everybody who waits why.

Exit codes: 0 yes or done, 1 no, 2 wrong use or configuration, or no right to it,
3 the throttle or Ironic could not be reached. With -o json stdout holds JSON
alone; logs and errors go to stderr.`

const rootExample = `  # a fake Ironic with 100 nodes, and the throttle in front of it
  ironic-throttle fake-ironic --nodes 100 --speed 60 &
  IRONIC_ENDPOINT=http://127.0.0.1:6385 ironic-throttle serve &

  # may this host be provisioned now?
  ironic-throttle check metal3/host-0

  # who holds the slots?
  ironic-throttle status --watch

  # why does this host wait, and what can I do?
  ironic-throttle why metal3/host-0

  # which hosts have failed, and why does none start?
  ironic-throttle holds
  ironic-throttle breakers`

// execute runs one command line and returns its exit code.
func (p *process) execute(ctx context.Context, args []string) int {
	root := p.rootCommand()
	root.SetArgs(args)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && err.Error() != "" {
		fmt.Fprintf(p.stderr, "error: %v\n", err)
		var e *exitError
		if !errors.As(err, &e) {
			fmt.Fprintf(p.stderr, "See '%s --help'.\n", cmd.CommandPath())
		}
	}
	return exitCode(err)
}

func (p *process) rootCommand() *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use: "ironic-throttle", Short: "limits how many bare-metal hosts work at once",
		Long: rootHelp, Example: rootExample,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return p.printVersion()
			}
			return cmd.Help()
		},
		SilenceErrors: true, SilenceUsage: true,
		SuggestionsMinimumDistance: 2,
	}
	root.Flags().BoolVar(&showVersion, "version", false, "print the version, as 'version' does")
	root.PersistentFlags().VarP(&formatFlag{json: &p.json}, "output", "o", "what is printed: text or json")
	completeWords(root, "output", []string{"text", "json"})
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(p.serveCommand(), p.checkCommand(), p.whyCommand(), p.queueCommand(), p.statusCommand(), p.holdsCommand(), p.breakersCommand(), p.planCommand(),
		p.demoCommand(), p.simulateCommand(), p.fakeIronicCommand(), p.versionCommand())
	root.SetHelpCommand(helpCommand(root))
	return root
}

// helpCommand is cobra's, but an unknown command is wrong use here too.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "show the help of a command",
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
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
				return noSuchCommand(root, args)
			}
			return cmd.Help()
		},
	}
}

// noSuchCommand refuses what is no command and names those that are like it.
func noSuchCommand(cmd *cobra.Command, args []string) error {
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
