package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const whyHelp = `Says how one host stands, why, what ends that, and what you can do. It changes nothing.

HOST is NAMESPACE/NAME or NAMESPACE~NAME, or the name or UUID of its node. Exit code 1:
the throttle does not know the host.`

const whyExample = `  ironic-throttle why metal3/host-0
  ironic-throttle why 3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b
  ironic-throttle why metal3/host-0 -o json | jq -r .standing`

func (p *process) whyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "why HOST", Short: "say why a host waits, and what you can do",
		Long: whyHelp, Example: whyExample, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			namespace, name, err := splitHost(args[0])
			if err != nil {
				return err
			}
			why, err := ask(cmd, p, func(client *api.Client, ctx context.Context) (api.Why, error) {
				return client.Why(ctx, namespace, name)
			}, statusview.Why)
			if err == nil && why.Standing == api.StandingUnknown {
				err = cli.Exit(cli.No, nil)
			}
			return err
		},
	}
	p.remoteFlags(cmd.Flags())
	return cmd
}
