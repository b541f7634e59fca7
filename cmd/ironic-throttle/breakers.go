package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const breakersHelp = `Shows the circuit breakers: one for the whole Ironic, and one for each conductor
group. CLOSED lets hosts start. OPEN lets none start, until the recovery time is over. HALF_OPEN
lets a few probes start: one that goes well closes it. Below are the causes of the
failures that count, with the number of hosts and some of their names.`

const breakersExample = `  ironic-throttle breakers
  ironic-throttle breakers -o json | jq -r '.breakers[] | select(.state != "CLOSED") | .scope'
  ironic-throttle breakers reset group:rack1
  ironic-throttle breakers trip ironic --for 2h`

const resetHelp = `Closes the breaker of a scope (ironic, or group:NAME) when its cause is repaired. What
failed before does not count any more. Exit code 1: the scope has no breaker.`

const tripHelp = `Opens the breaker of a scope (ironic, or group:NAME): no host starts there until the time
is over and a probe has gone well, or until you reset it. Hosts at work go on.`

func (p *process) breakersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "breakers", Short: "show the circuit breakers, reset or trip one",
		Long: breakersHelp, Example: breakersExample, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd, p, (*api.Client).Breakers, statusview.Breakers)
		},
	}
	p.remoteFlags(cmd.PersistentFlags())
	cmd.AddCommand(p.resetCommand(), p.tripCommand())
	return cmd
}

func (p *process) resetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reset SCOPE", Short: "close a breaker",
		Long: resetHelp, Example: "  ironic-throttle breakers reset group:rack1", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			reset := func(client *api.Client, ctx context.Context) (api.BreakerAnswer, error) {
				return client.ResetBreaker(ctx, args[0])
			}
			return show(cmd, p, reset, statusview.BreakerChange)
		},
	}
}

func (p *process) tripCommand() *cobra.Command {
	var long time.Duration
	cmd := &cobra.Command{
		Use: "trip SCOPE", Short: "open a breaker",
		Long: tripHelp, Example: "  ironic-throttle breakers trip ironic --for 2h", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("for") && long <= 0 { // to the API, 0 means the default
				return fmt.Errorf("--for %v: must be 1s..720h, such as 30m", long)
			}
			trip := func(client *api.Client, ctx context.Context) (api.BreakerAnswer, error) {
				return client.TripBreaker(ctx, args[0], long)
			}
			return show(cmd, p, trip, statusview.BreakerChange)
		},
	}
	cmd.Flags().DurationVar(&long, "for", 0,
		"how `long`, such as 30m, 1s..720h (default IRONIC_THROTTLE_BREAKER_RECOVERY_TIMEOUT)")
	return cmd
}
