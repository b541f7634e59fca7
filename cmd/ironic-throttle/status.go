package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const statusHelp = `Shows what matters now: how many slots are taken, which hosts hold them and for how long,
who is next, what failures stop, and warnings. -o json is /v1/status, which has more.

A terminal gets one screen, a pipe all rows. --watch refreshes it until you interrupt it,
also while the throttle cannot be reached.`

const statusExample = `  ironic-throttle status
  ironic-throttle status --watch --interval 1s
  ironic-throttle status -o json | jq .slots.total.free`

// minInterval keeps a watch from loading the throttle.
const minInterval = 100 * time.Millisecond

func (p *process) statusCommand() *cobra.Command {
	watch, interval := false, 2*time.Second
	cmd := &cobra.Command{
		Use: "status", Short: "show the slots and which hosts hold them",
		Long: statusHelp, Example: statusExample, Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < minInterval {
				return fmt.Errorf("--interval %v: must be at least %v", interval, minInterval)
			}
			client, err := api.NewClient(p.server, p.access)
			if err != nil {
				return err
			}
			defer client.CloseIdleConnections()
			if watch {
				return p.repeatStatus(cmd.Context(), client, interval)
			}
			shown, err := p.fetchStatus(cmd.Context(), client)
			if err != nil {
				return err
			}
			return p.printStatus(shown, "")
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.BoolVarP(&watch, "watch", "w", false, "refresh it until interrupted")
	fs.DurationVar(&interval, "interval", interval, "pause between two refreshes of --watch")
	p.remoteFlags(fs)
	return cmd
}

// fetchStatus gets what status shows; JSON has no queue. Its errors have their exit codes.
func (p *process) fetchStatus(ctx context.Context, client *api.Client) (shown statusview.Content, err error) {
	shown.Status, err = client.Status(ctx)
	if err == nil && !p.JSON {
		shown.Queue, err = client.Queue(ctx, api.QueueQuery{Limit: statusview.QueueRows})
	}
	if err != nil {
		err = p.failed(ctx, err)
	}
	return shown, err
}

// printStatus prints a status; as text, with before in front of it.
func (p *process) printStatus(shown statusview.Content, before string) error {
	if p.JSON {
		return p.PrintJSON(shown.Status)
	}
	return p.Print(before + statusview.Text(shown, cli.Terminal(p.Stdout)))
}

// repeatStatus prints the status until ctx ends. It returns the error of the last try before that; nil: it succeeded.
func (p *process) repeatStatus(ctx context.Context, client *api.Client, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	before := ""
	if cli.Terminal(p.Stdout) {
		before = "\x1b[H\x1b[2J" // clears the screen
	}
	for last := error(nil); ; {
		shown, err := p.fetchStatus(ctx, client)
		if ctx.Err() != nil {
			return last
		}
		if err == nil {
			if err := p.printStatus(shown, before); err != nil {
				return err
			}
			before = cmp.Or(before, "\n")
		} else if last == nil {
			fmt.Fprintf(p.Stderr, "error: %v\n", err) // once, not at each try
		}
		last = err
		select {
		case <-ctx.Done():
			return last
		case <-tick.C:
		}
	}
}
