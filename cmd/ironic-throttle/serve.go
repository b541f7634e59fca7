package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/app"
	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/config"
)

const serveHelp = `Watches Ironic and answers which hosts may start, until SIGTERM or SIGINT. It then
accepts no new requests, answers open ones, and ends within 5 s, or 10 s if it has a
Lease to give up. A second signal ends it at once.

Every setting is a flag, an environment variable and a key of the config file, in
this order of precedence. The flags below are what most sites need; --help-advanced
shows the others, docs/settings.md all of them. If serve cannot reach Ironic, it runs
on, and refuses new hosts as 'starting' or 'stale' until Ironic answers. While it runs,
serve takes changes of the config file.`

const serveExample = `  ironic-throttle serve --ironic-endpoint http://127.0.0.1:6385

  # refuse no host, count the refusals that there would have been
  IRONIC_ENDPOINT=http://127.0.0.1:6385 ironic-throttle serve --mode observe

  # on free ports, for a script
  ironic-throttle serve --listen-address 127.0.0.1:0 --health-probe-bind-address 127.0.0.1:0 \
    --metrics-bind-address 127.0.0.1:0 --ready-file ready.json`

// gcPercent keeps the process at 1.25 times its live memory instead of twice: it runs beside others in a pod, and has
// little work. GOGC overrides it.
const gcPercent = 25

func (p *process) serveCommand() *cobra.Command {
	var readyFile string
	var advanced bool
	cmd := &cobra.Command{
		Use: "serve", Short: "watch Ironic and answer which hosts may start",
		Long: serveHelp, Example: serveExample, Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if advanced {
				cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = !f.Hidden })
				_, err := fmt.Fprint(p.Stdout, cmd.Flags().FlagUsagesWrapped(helpWidth))
				return err
			}
			return p.serve(cmd.Context(), config.Sources{Flags: cmd.Flags()}, readyFile)
		},
	}
	cmd.Flags().SortFlags = false
	config.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&readyFile, "ready-file", "", cli.ReadyFileHelp)
	cmd.Flags().BoolVar(&advanced, "help-advanced", false, "show the flags of the advanced settings")
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { // our own template would cost 10 MB
		_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s\n\nExamples:\n%s\n\nFlags:\n%s%s", cmd.UseLine(),
			cmd.Example, cmd.LocalFlags().FlagUsagesWrapped(helpWidth), cmd.InheritedFlags().FlagUsages())
		return err
	})
	return cmd
}

// helpWidth is the width of the help of the settings' flags, in columns.
const helpWidth = 120

func (p *process) serve(ctx context.Context, from config.Sources, readyFile string) error {
	c, warnings, err := config.Load(from)
	if err != nil {
		for _, w := range warnings {
			fmt.Fprintf(p.Stderr, "warning: %s\n", w)
		}
		return cli.Exit(cli.WrongUse, fmt.Errorf("the configuration cannot be used:\n%w", err))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	log, level := p.logger(c)
	limitMemory(log)
	throttle, err := app.New(ctx, app.Options{
		Config: c, Warnings: warnings, Reload: &from, Log: log, Level: level, Version: cli.Version(),
	})
	if err != nil {
		return cli.Exit(cli.WrongUse, err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// The listeners are open: Run serves the connections that come from now on.
	err = cli.WriteReadyFile(readyFile, throttle.Addresses())
	if err != nil {
		stop() // Run closes what New has opened
		return cli.Exit(cli.WrongUse, errors.Join(err, throttle.Run(ctx)))
	}
	if err := throttle.Run(ctx); err != nil {
		return cli.Exit(cli.No, err)
	}
	return nil
}

// limitMemory lets Go use nine tenths of the memory that this container may take, so that the collector works harder
// before the kernel kills us: Go does not count sockets, files and its own code. GOMEMLIMIT, which Go reads, wins.
func limitMemory(log *slog.Logger) {
	const file = "/sys/fs/cgroup/memory.max" // "max" means no limit
	text, _ := os.ReadFile(file)
	most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(most / 10 * 9)
	log.Info("memory limit set", "from", file, "limit", most/10*9)
}

// logger returns a logger to stderr: stdout is for answers.
func (p *process) logger(c config.Config) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(c.Log.Level)) // internal/config has checked it
	opts := &slog.HandlerOptions{Level: level}
	if c.Log.Format == "json" || c.Log.Format == "" && !cli.Terminal(p.Stderr) {
		return slog.New(slog.NewJSONHandler(p.Stderr, opts)), level
	}
	return slog.New(slog.NewTextHandler(p.Stderr, opts)), level
}
