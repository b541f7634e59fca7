package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const planHelp = `Says which hosts could be released or provisioned again, why, what that saves, and
for how long it holds slots. It changes nothing. The throttle makes the plan, where
IRONIC_THROTTLE_DISRUPTION is plan or execute; docs/planned-work.md has examples.

Savings are in the currency of IRONIC_THROTTLE_DISRUPTION_TARIFF, slot-minutes are those
for which slots are held, and cost weighs them and the pods that move.

With --explain it tells of one host why it is a candidate, or why it is none.

Exit codes: 0 shown, 1 there is no such host (--explain), or it was interrupted, 2 wrong
use, or nothing is planned there, 3 the throttle could not be reached, or has no plan.`

const planExample = `  ironic-throttle plan
  ironic-throttle plan --explain metal3/worker-4`

func (p *process) planCommand() *cobra.Command {
	var to remote
	var host string
	cmd := &cobra.Command{
		Use: "plan", Short: "say which hosts could be released or provisioned again",
		Long: planHelp, Example: planExample, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := p.runPlan(cmd.Context(), to, host)
			if errors.Is(cmd.Context().Err(), context.Canceled) {
				return cli.Exit(cli.No, errors.New("interrupted"))
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&host, "explain", "", "tell of the `host` NAMESPACE/NAME why it is a candidate, or why not")
	p.remoteFlags(fs, &to)
	return cmd
}

func (p *process) runPlan(ctx context.Context, to remote, host string) error {
	namespace, name, err := splitHost(host)
	switch {
	case host == "":
	case err != nil:
		return err
	case namespace == "":
		return fmt.Errorf("host %q: must be NAMESPACE/NAME", host)
	}
	client, err := to.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	if host != "" {
		e, err := client.PlanExplanation(ctx, namespace, name)
		return shownPlan(p, e, to.explain(planError(err)), statusview.PlanExplanation)
	}
	plan, err := client.Plan(ctx)
	return shownPlan(p, plan, to.explain(planError(err)), statusview.Plan)
}

// shownPlan shows what was answered, if err is nil.
func shownPlan[T any](p *process, answer T, err error, text func(T) string) error {
	switch {
	case err != nil:
		return err
	case p.JSON:
		return p.PrintJSON(answer)
	}
	return p.Print(text(answer))
}

// planError gives an error of the planner its code: that there is no such host is a no, and that
// nothing is planned a matter of settings.
func planError(err error) error {
	var answer *api.Error
	if err == nil {
		return nil
	}
	if errors.As(err, &answer) && answer.Code == http.StatusNotFound {
		switch answer.Field {
		case api.PlanHostUnknown:
			return cli.Exit(cli.No, err)
		case api.PlannerOff:
			return cli.Exit(cli.WrongUse, err)
		}
	}
	return clientError(err)
}
