package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const planHelp = `Says which hosts could be released or provisioned again, why, what that saves, and
for how long it holds slots. It changes nothing. The throttle makes the plan, where
IRONIC_THROTTLE_DISRUPTION is plan or execute; docs/planned-work.md has examples.

Savings are in the currency of IRONIC_THROTTLE_DISRUPTION_TARIFF, slot-minutes say for how
long hosts hold slots, and cost weighs them and the pods that move.

With --explain it says why one host is a candidate, or why it is not. Exit code 1:
nothing is planned there, or there is no such host.`

const planExample = `  ironic-throttle plan
  ironic-throttle plan --explain metal3/worker-4`

func (p *process) planCommand() *cobra.Command {
	var host string
	cmd := &cobra.Command{
		Use: "plan", Short: "say which hosts could be released or provisioned again",
		Long: planHelp, Example: planExample, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if host == "" {
				return show(cmd, p, (*api.Client).Plan, statusview.Plan)
			}
			namespace, name, err := splitHost(host)
			if err != nil {
				return err
			}
			if namespace == "" {
				return fmt.Errorf("--explain %q: must be NAMESPACE/NAME", host)
			}
			return show(cmd, p, func(client *api.Client, ctx context.Context) (api.PlanExplanation, error) {
				return client.PlanExplanation(ctx, namespace, name)
			}, statusview.PlanExplanation)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&host, "explain", "", "say why the `host` NAMESPACE/NAME is a candidate, or why not")
	p.remoteFlags(fs)
	return cmd
}
