package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const checkHelp = `Asks a running throttle whether a host may start now, as BMO would.

A yes takes a slot for that host until its work has ended, and asking again is how
a host keeps it; --dry-run asks without taking anything. NAME without namespace is
a bare node name of Ironic. Without any host it asks whether a slot is free at all,
and changes nothing.

What the host wants is --op, else what --bmh-state is about to do, else provision.

Exit codes: 0 ready, 1 not ready, 2 wrong use, 3 the throttle could not be reached.
In a script treat everything but 0 as a no: then the limit holds.`

const checkExample = `  ironic-throttle check metal3/host-0 --op inspect
  ironic-throttle check metal3/host-0 --bmh-state deprovisioning --dry-run -o json
  ironic-throttle check --node-uuid 3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b
  ironic-throttle check && echo "a slot is free"`

func (p *process) checkCommand() *cobra.Command {
	var ask api.Ask
	var to remote
	cmd := &cobra.Command{
		Use: "check [NAMESPACE/NAME]", Short: "ask whether a host may start now",
		Long: checkHelp, Example: checkExample, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			host, err := hostOf(&ask, args)
			if err != nil {
				return err
			}
			if !host {
				return p.checkVacancy(cmd, to)
			}
			return p.check(cmd.Context(), to, ask)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar((*string)(&ask.Op), "op", "", "what it wants to do: "+opWords()+" (default from --bmh-state, else provision)")
	fs.StringVar((*string)(&ask.BMHState), "bmh-state", "", "provisioning `state` of its BareMetalHost")
	fs.StringVar(&ask.NodeUUID, "node-uuid", "", "`UUID` of its node in Ironic")
	fs.IntVar(&ask.ErrorCount, "error-count", 0, "its status.errorCount")
	fs.IntVar(&ask.ProvisioningFailCount, "provisioning-fail-count", 0, "its status.provisioningFailCount")
	fs.BoolVar(&ask.VirtualMedia, "virtual-media", false, "it boots from virtual media")
	fs.StringVar(&ask.ConductorGroup, "conductor-group", "", "its conductor `group`")
	fs.BoolVar(&ask.DryRun, "dry-run", false, "take, renew and end nothing")
	p.remoteFlags(fs, &to)
	return cmd
}

// hostOf completes ask, and reports false when it names no host.
func hostOf(ask *api.Ask, args []string) (bool, error) {
	if len(args) == 1 {
		namespace, name, err := splitHost(args[0])
		if err != nil {
			return false, err
		}
		ask.Namespace, ask.Name = namespace, name
	}
	if ask.Name == "" && ask.NodeUUID == "" {
		return false, nil
	}
	if ask.Op != "" {
		return true, nil
	}
	ask.Op = api.OpProvision
	if ask.BMHState != "" {
		op, starts := api.OpFor(ask.BMHState)
		if !starts {
			return false, fmt.Errorf("--bmh-state %q: starts nothing by itself, so --op must say what is wanted", ask.BMHState)
		}
		ask.Op = op
	}
	return true, nil
}

// splitHost reads NAMESPACE/NAME; without a namespace it is "".
func splitHost(text string) (namespace, name string, err error) {
	namespace, name, found := strings.Cut(text, "/")
	if !found {
		namespace, name = "", namespace
	}
	if name == "" || found && namespace == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("host %q: must be NAMESPACE/NAME, or a bare node name", text)
	}
	return namespace, name, nil
}

// checkVacancy asks for nobody in particular.
func (p *process) checkVacancy(cmd *cobra.Command, to remote) error {
	var stray []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "server", "token-file", "ca-file", "dry-run", "output": // nothing about a host
		default:
			stray = append(stray, "--"+f.Name)
		}
	})
	if len(stray) > 0 {
		return fmt.Errorf("%s: needs a host, NAMESPACE/NAME or --node-uuid", strings.Join(stray, ", "))
	}
	client, err := to.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	answer, err := client.Vacancy(cmd.Context())
	if err != nil {
		return clientError(err)
	}
	return p.printAnswer(answer)
}

func (p *process) check(ctx context.Context, to remote, ask api.Ask) error {
	client, err := to.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	answer, err := client.IsReady(ctx, ask)
	if err != nil {
		return clientError(err)
	}
	return p.printAnswer(answer)
}

// printAnswer prints a and makes a no an exit code.
func (p *process) printAnswer(a api.Answer) error {
	var err error
	if p.json {
		err = p.printJSON(a)
	} else {
		err = p.print(answerText(a))
	}
	if err == nil && !a.Ready {
		err = &exitError{code: exitNo}
	}
	return err
}

func opWords() string {
	var words []string
	for _, op := range api.Ops() {
		words = append(words, string(op))
	}
	return strings.Join(words, ", ")
}

// answerText is a as a person reads it.
func answerText(a api.Answer) string {
	var b strings.Builder
	ready := "no"
	if a.Ready {
		ready = "yes"
	}
	fmt.Fprintf(&b, "ready:    %s\nreason:   %s\nmessage:  %s\n", ready, a.Reason, a.Message)
	if a.RetryAfterSeconds > 0 {
		fmt.Fprintf(&b, "retry:    after %d s\n", a.RetryAfterSeconds)
	}
	if a.Position > 0 {
		fmt.Fprintf(&b, "position: %d\n", a.Position)
	}
	s := a.Slots
	fmt.Fprintf(&b, "slots:    %d of %d occupied, %d free, %d leased, %d booting, %d waiting\n",
		s.Occupied, s.Limit, s.Free, s.Leased, s.Booting, s.Waiting)
	return b.String()
}
