package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func (p *process) statusCommand() *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use: "status", Short: "show who holds the slots", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := newClient(server)
			if err != nil {
				return err
			}
			defer client.CloseIdleConnections()
			return p.status(cmd.Context(), client)
		},
	}
	p.serverFlag(cmd.Flags(), &server)
	return cmd
}

func (p *process) status(ctx context.Context, client *api.Client) error {
	s, err := client.Status(ctx)
	if err != nil {
		return clientError(err)
	}
	_ = time.Now
	return p.printJSON(s)
}
