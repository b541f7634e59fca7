package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

const planHelp = `Says which hosts could be released or provisioned again, why, what that saves, and
how many slots it takes for how long, with the commands that you would run. It changes
nothing. The throttle makes the plan, where IRONIC_THROTTLE_DISRUPTION is plan or
execute; docs/planned-work.md has examples.

SAVING/H is in the currency of IRONIC_THROTTLE_DISRUPTION_TARIFF, MINUTES are those for
which slots are held, and COST weighs them and the pods that move.

With --explain it tells of one host why it is a candidate, or why it is none.

--export writes all that the plan is made of to a file, which has the names and labels
of every host, node and pod. --state makes the plan of such a file, here and without a
throttle: whatever is changed in the file shows what it would change in the plan.

Exit codes: 0 shown, 1 there is no such host (--explain), or it was interrupted or
could not be written, 2 wrong use, a file that cannot be used, or nothing is planned
there, 3 the throttle could not be reached, or has no plan.`

const planExample = `  ironic-throttle plan
  ironic-throttle plan --explain metal3/worker-4
  ironic-throttle plan --export state.json
  ironic-throttle plan --state state.json --at 2026-11-24T20:00:00Z
  ironic-throttle plan -o json | jq -r '.actions[].commands[]'`

// planFlags are those of plan.
type planFlags struct {
	to                             remote
	state, export, explain, atTime string

	host *disruption.Key // of explain; nil: none
	at   time.Time       // of atTime; zero: when the state was taken
}

func (p *process) planCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use: "plan", Short: "say which hosts could be released or provisioned again",
		Long: planHelp, Example: planExample, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.read(); err != nil {
				return err
			}
			err := p.runPlan(cmd.Context(), f)
			if errors.Is(cmd.Context().Err(), context.Canceled) {
				return cli.Exit(cli.No, errors.New("interrupted"))
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.explain, "explain", "", "tell of the `host` NAMESPACE/NAME why it is a candidate, or why not")
	fs.StringVar(&f.export, "export", "", "write what the plan is made of to this `file`")
	fs.StringVar(&f.state, "state", "", "make the plan of this exported `file`, - for stdin, and ask no throttle")
	fs.StringVar(&f.atTime, "at", "", "with --state: as of this `time`, such as 2026-11-24T20:00:00Z; (default when the state was taken)")
	p.remoteFlags(fs, &f.to)
	for _, other := range []string{"export", "server", "token-file", "ca-file"} {
		cmd.MarkFlagsMutuallyExclusive("state", other)
	}
	return cmd
}

// read reads what is no text.
func (f *planFlags) read() error {
	if f.explain != "" {
		namespace, name, err := splitHost(f.explain)
		if err == nil && namespace == "" {
			err = fmt.Errorf("host %q: must be NAMESPACE/NAME", f.explain)
		}
		if f.host = (&disruption.Key{Namespace: namespace, Name: name}); err != nil {
			return err
		}
	}
	switch at, err := time.Parse(time.RFC3339, f.atTime); {
	case f.atTime == "":
	case f.state == "":
		return errors.New("--at is for --state: a throttle plans as of now; write its state with --export first")
	case err != nil:
		return fmt.Errorf("--at %q: must be a time such as 2026-11-24T20:00:00Z (RFC 3339)", f.atTime)
	default:
		f.at = at
	}
	return nil
}

func (p *process) runPlan(ctx context.Context, f planFlags) error {
	if f.state != "" {
		d, err := readState(ctx, f.state)
		if err != nil {
			return err
		}
		return p.planHere(ctx, d, f)
	}
	client, err := f.to.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	switch {
	case f.export != "":
		text, err := client.PlanState(ctx)
		if err != nil {
			return f.to.explain(planError(err))
		}
		return p.exportPlan(ctx, text, f)
	case f.host != nil:
		e, err := client.PlanExplanation(ctx, f.host.Namespace, f.host.Name)
		return shownPlan(p, e, f.to.explain(planError(err)), statusview.PlanExplanation)
	}
	plan, err := client.Plan(ctx)
	return shownPlan(p, plan, f.to.explain(planError(err)), statusview.Plan)
}

// exportPlan writes the state that a throttle plans with, and makes the plan of it here: what is shown and what is
// written belong together.
func (p *process) exportPlan(ctx context.Context, text []byte, f planFlags) error {
	if err := cli.WritePrivate(f.export, append(bytes.TrimSpace(text), '\n')); err != nil {
		return cli.Exit(cli.No, fmt.Errorf("--export: %w", err))
	}
	d, err := disruption.ReadDocument(bytes.NewReader(text))
	if err != nil {
		return cli.Exit(cli.No, fmt.Errorf("%s is written, and no plan is made of it here: %w", f.export, err))
	}
	return p.planHere(ctx, d, f)
}

// planHere makes and shows the plan of a document.
func (p *process) planHere(ctx context.Context, d *disruption.Document, f planFlags) error {
	if f.at.IsZero() {
		f.at = d.State.TakenAt
	}
	if f.host == nil {
		plan, err := disruption.Plan(ctx, &d.State, d.Config, f.at)
		return shownPlan(p, plan, err, statusview.Plan)
	}
	if !slices.ContainsFunc(d.State.Hosts, func(h disruption.Host) bool { return h.Key == *f.host }) {
		return cli.Exit(cli.No, fmt.Errorf("there is no BareMetalHost %q", f.host))
	}
	e, err := disruption.Explain(ctx, &d.State, d.Config, f.at, *f.host)
	return shownPlan(p, e, err, statusview.PlanExplanation)
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
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer) && answer.Code == http.StatusNotFound:
		switch answer.Field {
		case api.PlanHostUnknown:
			return cli.Exit(cli.No, err)
		case api.PlannerOff:
			return cli.Exit(cli.WrongUse, err)
		}
	}
	return clientError(err)
}

// readState reads an exported state. It returns at the end of ctx also where nobody writes to stdin.
func readState(ctx context.Context, file string) (*disruption.Document, error) {
	type result struct {
		d   *disruption.Document
		err error
	}
	read := make(chan result, 1)
	go func() {
		d, err := documentOf(file)
		read <- result{d, err}
	}()
	select {
	case r := <-read:
		if r.err != nil {
			return nil, fmt.Errorf("--state %s: %w", file, r.err)
		}
		return r.d, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func documentOf(file string) (*disruption.Document, error) {
	if file == "-" {
		return disruption.ReadDocument(os.Stdin)
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return disruption.ReadDocument(in)
}
