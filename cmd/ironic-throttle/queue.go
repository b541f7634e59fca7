package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const queueHelp = `Shows which hosts wait for a slot, in the order of the queue: place, host, its
last answer, since when it waits, and when its turn may come. For each pool that has its
own queue, it shows the first hosts, 20 or as --limit says.

With --namespace or --reason it also shows hosts that are stopped or silent: these have
no place until they ask again. 'why' says more about one host.`

const queueExample = `  ironic-throttle queue
  ironic-throttle queue --namespace metal3 --limit 100
  ironic-throttle queue --reason breaker-open
  ironic-throttle queue -o json | jq -r '.pools[].hosts[].name'`

func (p *process) queueCommand() *cobra.Command {
	var pool string
	query := api.QueueQuery{Limit: statusview.QueueRows}
	cmd := &cobra.Command{
		Use: "queue", Short: "show which hosts wait, in which order",
		Long: queueHelp, Example: queueExample, Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("pool") {
				query.Pool = &pool
			}
			return show(cmd, p, func(client *api.Client, ctx context.Context) (api.Queue, error) {
				return client.Queue(ctx, query)
			}, statusview.Queue)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.IntVar(&query.Limit, "limit", query.Limit, "how many hosts of each pool")
	fs.StringVarP(&query.Namespace, "namespace", "n", "", "only hosts of this `namespace`")
	fs.StringVar((*string)(&query.Reason), "reason", "", "hosts whose last answer had this `reason`")
	fs.StringVar(&pool, "pool", "", "only the queue of this `pool`: a conductor group, or virtual-media")
	p.remoteFlags(fs)
	return cmd
}
