package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const statusHelp = `Shows what matters now: how many slots are taken, which hosts hold them and for how long, who is next,
what failures stop, and warnings. -o wide adds the rest: version, address, age of the
view, totals. -o json is /v1/status.

A terminal gets one screen, a pipe all rows. With --watch it is
shown again and again until it is interrupted, also while the throttle cannot be
reached; with -o json as one line of JSON each.`

const statusExample = `  ironic-throttle status
  ironic-throttle status --watch --interval 1s
  ironic-throttle status -o wide
  ironic-throttle status -o json | jq .slots.total.free`

// minInterval keeps a watch from being a load.
const minInterval = 100 * time.Millisecond

func (p *process) statusCommand() *cobra.Command {
	view := statusView{process: p, interval: 2 * time.Second}
	var watch bool
	cmd := &cobra.Command{
		Use: "status", Short: "show the slots and who holds them; -o wide shows more",
		Long: statusHelp, Example: statusExample, Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if view.interval < minInterval {
				return fmt.Errorf("--interval %v: must be at least %v", view.interval, minInterval)
			}
			client, err := view.to.client()
			if err != nil {
				return err
			}
			defer client.CloseIdleConnections()
			fetch := func(ctx context.Context) (statusview.Content, error) { return view.fetch(ctx, client) }
			if watch {
				return view.repeat(cmd.Context(), fetch)
			}
			seen, err := fetch(cmd.Context())
			switch {
			case err != nil:
				return err
			case p.JSON:
				return p.PrintJSON(seen.Status)
			}
			return p.Print(view.text(seen))
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.BoolVarP(&watch, "watch", "w", false, "show it again and again")
	fs.DurationVar(&view.interval, "interval", view.interval, "pause between two refreshes of --watch")
	p.Output(fs, &view.wide)
	p.remoteFlags(fs, &view.to)
	return cmd
}

// statusView is how status shows what it is told to show.
type statusView struct {
	*process
	to       remote
	wide     bool
	interval time.Duration
}

// fetch gets what status shows: the queue is for people. Its errors have their exit codes.
func (v *statusView) fetch(ctx context.Context, client *api.Client) (shown statusview.Content, err error) {
	shown.Server, shown.Wide = v.to.server, v.wide
	shown.Status, err = client.Status(ctx)
	if err == nil && !v.JSON {
		shown.Queue, err = client.Queue(ctx, api.QueueQuery{Limit: statusview.QueueRows})
	}
	if err != nil {
		err = v.to.explain(clientError(err))
	}
	return shown, err
}

func (v *statusView) text(shown statusview.Content) string {
	return statusview.Text(shown, !v.wide && cli.Terminal(v.Stdout))
}

// repeat prints statuses until ctx ends; it returns the error of the last try, nil when the end came in between.
func (v *statusView) repeat(ctx context.Context, fetch func(context.Context) (statusview.Content, error)) error {
	tick := time.NewTicker(v.interval)
	defer tick.Stop()
	var last error
	for first := true; ; first = false {
		shown, err := fetch(ctx)
		if ctx.Err() != nil {
			return last
		}
		if err == nil {
			if err := v.print(shown, first); err != nil {
				return err
			}
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

// clearScreen begins in the upper left corner of an empty terminal.
const clearScreen = "\x1b[H\x1b[2J"

func (v *statusView) print(shown statusview.Content, first bool) error {
	switch {
	case v.JSON:
		text, err := json.Marshal(shown.Status)
		if err != nil {
			return cli.Exit(cli.No, fmt.Errorf("output: %w", err))
		}
		return v.Print(string(text) + "\n")
	case cli.Terminal(v.Stdout):
		return v.Print(clearScreen + v.text(shown))
	case first:
		return v.Print(v.text(shown))
	}
	return v.Print("\n" + v.text(shown))
}
