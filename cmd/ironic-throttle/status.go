package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const statusHelp = `Shows what a running throttle knows, and which address answered: how fresh its view of Ironic is, how many
slots are taken and by whom since when, who is next in the queue, what failures stop,
and warnings. With -o json it is /v1/status as it is, which has no queue.

With --watch it shows that again and again until it is interrupted: on a terminal in
the same place, else one block after the other; with -o json as one line of JSON each.
It goes on while the throttle cannot be reached.

A terminal gets one screen, in lines of its width: UUIDs are shortened first, then long
texts are broken and columns left out, and of each table the first rows are shown. A
pipe gets everything.

Exit codes: 0 shown, 2 wrong use, 3 the throttle could not be reached (--watch: at
the last try).`

const statusExample = `  ironic-throttle status
  ironic-throttle status --watch --interval 1s
  ironic-throttle status -o json | jq .slots.total.free`

// minInterval keeps a watch from being a load.
const minInterval = 100 * time.Millisecond

func (p *process) statusCommand() *cobra.Command {
	var to remote
	var watch bool
	interval := 2 * time.Second
	cmd := &cobra.Command{
		Use: "status", Short: "show the slots and who holds them",
		Long: statusHelp, Example: statusExample, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < minInterval {
				return fmt.Errorf("--interval %v: must be at least %v", interval, minInterval)
			}
			client, err := to.client()
			if err != nil {
				return err
			}
			defer client.CloseIdleConnections()
			fetch := p.statusSource(client, to)
			if watch {
				return p.repeatStatus(cmd.Context(), fetch, interval)
			}
			seen, err := fetch(cmd.Context())
			if err != nil {
				return err
			}
			if p.JSON {
				return p.PrintJSON(seen.Status)
			}
			return p.Print(statusview.Text(seen, p.Columns()))
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.BoolVarP(&watch, "watch", "w", false, "show it again and again")
	fs.DurationVar(&interval, "interval", interval, "pause between two refreshes of --watch")
	p.remoteFlags(fs, &to)
	return cmd
}

type statusSource func(context.Context) (statusview.Content, error)

// statusSource fetches what status shows: the queue is for people. A throttle that is
// older than this command may have none. Its errors have their exit codes.
func (p *process) statusSource(client *api.Client, to remote) statusSource {
	return func(ctx context.Context) (shown statusview.Content, err error) {
		shown.Server = to.server
		if shown.Status, err = client.Status(ctx); err != nil {
			return shown, to.explain(clientError(err))
		}
		if p.JSON {
			return shown, nil
		}
		var answered *api.Error
		shown.Queue, err = client.Queue(ctx, statusview.QueueRows)
		if errors.As(err, &answered) && answered.Code == http.StatusNotFound {
			err = nil
		}
		if err != nil {
			err = to.explain(clientError(err))
		}
		return shown, err
	}
}

// repeatStatus prints statuses until ctx ends; it returns the error of the last try, nil when
// the end came in between.
func (p *process) repeatStatus(ctx context.Context, fetch statusSource, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last error
	for first := true; ; first = false {
		shown, err := fetch(ctx)
		if ctx.Err() != nil {
			return last
		}
		if err == nil {
			if printErr := p.printStatus(shown, first); printErr != nil {
				return printErr
			}
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

// clearScreen begins in the upper left corner of an empty terminal.
const clearScreen = "\x1b[H\x1b[2J"

func (p *process) printStatus(shown statusview.Content, first bool) error {
	if p.JSON {
		text, err := json.Marshal(shown.Status)
		if err != nil {
			return cli.Exit(cli.No, fmt.Errorf("output: %w", err))
		}
		return p.Print(string(text) + "\n")
	}
	text := statusview.Text(shown, p.Columns())
	switch {
	case cli.Terminal(p.Stdout):
		text = clearScreen + text
	case !first:
		text = "\n" + text
	}
	return p.Print(text)
}
