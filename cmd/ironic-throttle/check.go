package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/statusview"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const checkHelp = `Asks a running throttle whether a host may start now, as BMO would.

A YES TAKES A SLOT for that host until its work has ended, and asking again is how
a host keeps it; with --dry-run it takes none. The last line, effect, says which it was.
NAME without namespace is a node name of Ironic. Without any host it asks whether a slot
is free at all, and changes nothing.

What the host wants is --op, else what --bmh-state is about to do, else provision.

Exit code 1: not ready. In a script treat everything but 0 as a no: then the limit holds
when the throttle is away.`

const checkExample = `  ironic-throttle check metal3/host-0 --op inspect
  ironic-throttle check metal3/host-0 --bmh-state deprovisioning --dry-run -o json
  ironic-throttle check --node-uuid 3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b
  ironic-throttle check && echo "a slot is free"`

func (p *process) checkCommand() *cobra.Command {
	var question api.Ask
	cmd := &cobra.Command{
		Use: "check [NAMESPACE/NAME]", Short: "ask whether a host may start now; a yes takes a slot",
		Long: checkHelp, Example: checkExample, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			host, err := hostOf(&question, args)
			switch {
			case err != nil:
				return err
			case !host && question != api.Ask{DryRun: question.DryRun}:
				return errors.New("these flags are about a host, so name one: NAMESPACE/NAME or --node-uuid")
			}
			a, err := ask(cmd, p, func(client *api.Client, ctx context.Context) (api.Answer, error) {
				if !host {
					return client.Vacancy(ctx)
				}
				return client.IsReady(ctx, question)
			}, func(a api.Answer) string { return statusview.Answer(a, effect(host, question, a)) })
			if err == nil && !a.Ready {
				err = cli.Exit(cli.No, nil)
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar((*string)(&question.Op), "op", "",
		fmt.Sprintf("what it wants to do, one of %v (default from --bmh-state, else provision)", api.Ops()))
	fs.StringVar((*string)(&question.BMHState), "bmh-state", "", "provisioning `state` of its BareMetalHost")
	fs.StringVar(&question.NodeUUID, "node-uuid", "", "`UUID` of its node in Ironic")
	fs.IntVar(&question.ErrorCount, "error-count", 0, "its status.errorCount")
	fs.IntVar(&question.ProvisioningFailCount, "provisioning-fail-count", 0, "its status.provisioningFailCount")
	fs.BoolVar(&question.VirtualMedia, "virtual-media", false, "it boots from virtual media")
	fs.StringVar(&question.ConductorGroup, "conductor-group", "", "its conductor `group`")
	fs.BoolVar(&question.DryRun, "dry-run", false, "take, renew and end no slot")
	p.remoteFlags(fs)
	return cmd
}

// hostOf completes ask, and returns false if it names no host.
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

// splitHost reads NAMESPACE/NAME, or NAMESPACE~NAME as BMO names the node of a host; namespace may be "".
func splitHost(text string) (namespace, name string, err error) {
	const marks = "/~"
	name = text
	at := strings.IndexAny(text, marks)
	if at >= 0 {
		namespace, name = text[:at], text[at+1:]
	}
	if name == "" || at == 0 || strings.ContainsAny(name, marks) {
		return "", "", fmt.Errorf("host %q: must be NAMESPACE/NAME, or a bare node name", text)
	}
	return namespace, name, nil
}

// effect says what the answer to question has changed.
func effect(host bool, question api.Ask, a api.Answer) string {
	switch {
	case !host:
		return "none: without a host it takes no slot"
	case question.DryRun:
		return "none: with --dry-run it takes no slot"
	case a.Reason == api.ReasonGranted:
		return "took a slot for this host, until its work has ended"
	case a.Reason == api.ReasonHeldSlot:
		return "keeps the slot that this host has"
	}
	return "took no slot"
}
