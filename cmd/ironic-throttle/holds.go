package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const holdsHelp = `Shows the failed hosts: what failed, how often in a row, since when, for how long
each is left alone, the episode that names this failure, and what Ironic said.`

const holdsExample = `  ironic-throttle holds
  ironic-throttle holds -o json | jq -r '.hosts[] | select(.held) | .name'
  ironic-throttle holds release metal3/host-0`

const releaseHelp = `Lets a held host be tried again. It queues like any other: it gets no slot out of
turn. HOST is as for 'why'. To release it twice is no error.

--episode, as 'holds' shows it, releases only that failure. Exit code 1: no such host has
failed, it has failed again since that episode, or the throttle could not save the
release.`

const releaseExample = `  ironic-throttle holds release metal3/host-0
  ironic-throttle holds release 3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b --episode 5c0d7e2f6b14`

func (p *process) holdsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "holds", Short: "show failed hosts, and let one be tried again",
		Long: holdsHelp, Example: holdsExample, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd, p, (*api.Client).Holds, statusview.Holds)
		},
	}
	p.remoteFlags(cmd.PersistentFlags())
	cmd.AddCommand(p.releaseCommand())
	return cmd
}

func (p *process) releaseCommand() *cobra.Command {
	var episode string
	cmd := &cobra.Command{
		Use: "release HOST", Short: "let a held host be tried again",
		Long: releaseHelp, Example: releaseExample, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			namespace, name, err := splitHost(args[0])
			if err != nil {
				return err
			}
			release := func(client *api.Client, ctx context.Context) (api.ReleaseAnswer, error) {
				return client.ReleaseHold(ctx, namespace, name, episode)
			}
			return show(cmd, p, release, statusview.Release)
		},
	}
	cmd.Flags().StringVar(&episode, "episode", "", "release only this `failure`, no later one")
	return cmd
}
