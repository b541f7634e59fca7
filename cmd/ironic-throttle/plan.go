package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
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
	to                         remote
	state, export, explain, at string
}

func (p *process) planCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use: "plan", Short: "say which hosts could be released or provisioned again",
		Long: planHelp, Example: planExample, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runPlan(cmd.Context(), f) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.explain, "explain", "", "tell of the `host` NAMESPACE/NAME why it is a candidate, or why not")
	fs.StringVar(&f.export, "export", "", "write what the plan is made of to this `file`")
	fs.StringVar(&f.state, "state", "", "make the plan of this exported `file`, - for stdin, and ask no throttle")
	fs.StringVar(&f.at, "at", "", "with --state: as of this `time`, such as 2026-11-24T20:00:00Z; (default when the state was taken)")
	p.remoteFlags(fs, &f.to)
	for _, other := range []string{"export", "server", "token-file", "ca-file"} {
		cmd.MarkFlagsMutuallyExclusive("state", other)
	}
	completeFlag(cmd, "explain", f.to.complete(anyHostOf))
	return cmd
}

func (p *process) runPlan(ctx context.Context, f planFlags) error {
	host, err := f.host()
	if err != nil {
		return err
	}
	at, err := f.time()
	if err != nil {
		return err
	}
	err = p.makePlan(ctx, f, host, at)
	if errors.Is(ctx.Err(), context.Canceled) {
		return cli.Exit(cli.No, errors.New("interrupted"))
	}
	return err
}

// host is the one to explain; nil: none.
func (f planFlags) host() (*disruption.Key, error) {
	if f.explain == "" {
		return nil, nil //nolint:nilnil // none is asked for
	}
	namespace, name, err := splitHost(f.explain)
	if err == nil && namespace == "" {
		err = fmt.Errorf("host %q: must be NAMESPACE/NAME", f.explain)
	}
	return &disruption.Key{Namespace: namespace, Name: name}, err
}

// time is that of --at; zero: the state's.
func (f planFlags) time() (at time.Time, err error) {
	switch {
	case f.at == "":
		return at, nil
	case f.state == "":
		return at, errors.New("--at is for --state: a throttle plans as of now; write its state with --export first")
	}
	if at, err = time.Parse(time.RFC3339, f.at); err != nil {
		return at, fmt.Errorf("--at %q: must be a time such as 2026-11-24T20:00:00Z (RFC 3339)", f.at)
	}
	return at, nil
}

func (p *process) makePlan(ctx context.Context, f planFlags, host *disruption.Key, at time.Time) error {
	if f.state != "" {
		d, err := readState(ctx, f.state)
		if err != nil {
			return err
		}
		return p.planHere(ctx, d, host, at)
	}
	client, err := f.to.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	if f.export != "" {
		return p.exportPlan(ctx, client, f, host)
	}
	if host != nil {
		e, err := client.PlanExplanation(ctx, host.Namespace, host.Name)
		if err != nil {
			return f.to.explain(planError(err))
		}
		return shownPlan(p, e, statusview.PlanExplanation)
	}
	plan, err := client.Plan(ctx)
	if err != nil {
		return f.to.explain(planError(err))
	}
	return shownPlan(p, plan, statusview.Plan)
}

// exportPlan writes the state that a throttle plans with, and makes the plan of it here: what is shown and what is
// written belong together.
func (p *process) exportPlan(ctx context.Context, client *api.Client, f planFlags, host *disruption.Key) error {
	text, err := client.PlanState(ctx)
	if err != nil {
		return f.to.explain(planError(err))
	}
	if err := writePrivate(f.export, append(bytes.TrimSpace(text), '\n')); err != nil {
		return cli.Exit(cli.No, fmt.Errorf("--export: %w", err))
	}
	d, err := disruption.ReadDocument(bytes.NewReader(text))
	if err != nil {
		return cli.Exit(cli.No, fmt.Errorf("%s is written, and no plan is made of it here: %w", f.export, err))
	}
	return p.planHere(ctx, d, host, time.Time{})
}

// planHere makes and shows the plan of a document.
func (p *process) planHere(ctx context.Context, d *disruption.Document, host *disruption.Key, at time.Time) error {
	if at.IsZero() {
		at = d.State.TakenAt
	}
	if host != nil {
		if !slices.ContainsFunc(d.State.Hosts, func(h disruption.Host) bool { return h.Key == *host }) {
			return cli.Exit(cli.No, fmt.Errorf("there is no BareMetalHost %q", host))
		}
		e, err := disruption.Explain(ctx, &d.State, d.Config, at, *host)
		if err != nil {
			return cli.Exit(cli.WrongUse, err)
		}
		return shownPlan(p, e, statusview.PlanExplanation)
	}
	plan, err := disruption.Plan(ctx, &d.State, d.Config, at)
	if err != nil {
		return cli.Exit(cli.WrongUse, err)
	}
	if plan.Actions == nil {
		plan.Actions = []api.PlanAction{}
	}
	return shownPlan(p, plan, statusview.Plan)
}

func shownPlan[T any](p *process, answer T, text func(T, int) string) error {
	if p.JSON {
		return p.PrintJSON(answer)
	}
	return p.Print(text(answer, p.Columns()))
}

// planError gives an error of the planner its code: that there is no such host is a no, and that
// nothing is planned a matter of settings.
func planError(err error) error {
	var answer *api.Error
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

// readState reads an exported state. It returns at the end of ctx also where nobody writes to stdin.
func readState(ctx context.Context, file string) (*disruption.Document, error) {
	type result struct {
		d   *disruption.Document
		err error
	}
	read := make(chan result, 1)
	go func() {
		var r result
		in := io.ReadCloser(os.Stdin)
		if file != "-" {
			in, r.err = os.Open(file)
		}
		if r.err == nil {
			r.d, r.err = disruption.ReadDocument(in)
			if file != "-" {
				_ = in.Close()
			}
		}
		read <- r
	}()
	select {
	case r := <-read:
		if r.err != nil {
			r.err = cli.Exit(cli.WrongUse, fmt.Errorf("--state %s: %w", file, r.err))
		}
		return r.d, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// writePrivate writes a file that only its owner may read; it appears whole, or stays as it was.
func writePrivate(path string, text []byte) error {
	part, err := os.CreateTemp(filepath.Dir(path), ".export-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) //nolint:errcheck // gone already when all went well
	_, err = part.Write(text)
	if err == nil {
		err = part.Sync()
	}
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	return err
}
