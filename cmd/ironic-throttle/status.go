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
who is next, what failures stop, and warnings. -o wide adds the rest: version, address,
age of the view, totals. -o json is /v1/status.

A terminal gets one screen, a pipe all rows. With --watch it is shown again and again
until it is interrupted, also while the throttle cannot be reached.`

const statusExample = `  ironic-throttle status
  ironic-throttle status --watch --interval 1s
  ironic-throttle status -o wide
  ironic-throttle status -o json | jq .slots.total.free`

// minInterval keeps a watch from being a load.
const minInterval = 100 * time.Millisecond

func (p *process) statusCommand() *cobra.Command {
	view := statusView{process: p}
	watch, interval := false, 2*time.Second
	cmd := &cobra.Command{
		Use: "status", Short: "show the slots and who holds them; -o wide shows more",
		Long: statusHelp, Example: statusExample, Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < minInterval {
				return fmt.Errorf("--interval %v: must be at least %v", interval, minInterval)
			}
			client, err := view.to.client()
			if err != nil {
				return err
			}
			defer client.CloseIdleConnections()
			if watch {
				return view.repeat(cmd.Context(), client, interval)
			}
			shown, err := view.fetch(cmd.Context(), client)
			if err != nil {
				return err
			}
			return view.print(shown, "")
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.BoolVarP(&watch, "watch", "w", false, "show it again and again")
	fs.DurationVar(&interval, "interval", interval, "pause between two refreshes of --watch")
	p.Output(fs, &view.wide)
	p.remoteFlags(fs, &view.to)
	return cmd
}

// statusView is how status shows what it is told to show.
type statusView struct {
	*process
	to   remote
	wide bool
}

// fetch gets what status shows: the queue is for people. Its errors have their exit codes.
func (v *statusView) fetch(ctx context.Context, client *api.Client) (shown statusview.Content, err error) {
	shown.Server, shown.Wide = v.to.server, v.wide
	shown.Status, err = client.Status(ctx)
	if err == nil && !v.JSON {
		shown.Queue, err = client.Queue(ctx, api.QueueQuery{Limit: statusview.QueueRows})
	}
	if err != nil {
		err = v.to.failed(ctx, err)
	}
	return shown, err
}

// print shows a status, a text behind what goes before it.
func (v *statusView) print(shown statusview.Content, before string) error {
	if v.JSON {
		return v.PrintJSON(shown.Status)
	}
	return v.Print(before + statusview.Text(shown, !v.wide && cli.Terminal(v.Stdout)))
}

// repeat prints statuses until ctx ends; it returns the error of the last try, nil when the end came in between.
func (v *statusView) repeat(ctx context.Context, client *api.Client, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	before := ""
	if cli.Terminal(v.Stdout) {
		before = "\x1b[H\x1b[2J" // begins in the upper left corner of an empty screen
	}
	for last := error(nil); ; {
		shown, err := v.fetch(ctx, client)
		if ctx.Err() != nil {
			return last
		}
		if err == nil {
			if err := v.print(shown, before); err != nil {
				return err
			}
			before = cmp.Or(before, "\n")
		} else if last == nil {
			fmt.Fprintf(v.Stderr, "error: %v\n", err) // once, not at each try
		}
		last = err
		select {
		case <-ctx.Done():
			return last
		case <-tick.C:
		}
	}
}
