package main

import (
	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
)

const rootHelp = `ironic-throttle watches what OpenStack Ironic does, hands out a fixed number of
provisioning slots, never one more, and tells each host that waits why.

Exit codes: 0 yes or done, 1 no, 2 wrong use or configuration, or no right to it,
3 the throttle or Ironic could not be reached. With -o json stdout holds JSON
alone; logs and errors go to stderr.`

const rootExample = `  # the throttle beside an Ironic
  IRONIC_ENDPOINT=http://127.0.0.1:6385 ironic-throttle serve &

  # which hosts hold the slots, and which wait?
  ironic-throttle status --watch

  # why does this host wait, and what can I do?
  ironic-throttle why metal3/host-0

  # may this host be provisioned now? (without --dry-run a yes takes a slot)
  ironic-throttle check metal3/host-0 --dry-run

  # which hosts have failed, and why does none start?
  ironic-throttle holds
  ironic-throttle breakers`

func root(c *cli.Process) *cobra.Command {
	p := &process{Process: c}
	return c.Root(&cobra.Command{
		Use: "ironic-throttle", Short: "limits how many bare-metal hosts work at once",
		Long: rootHelp, Example: rootExample,
	}, p.serveCommand(), p.checkCommand(), p.whyCommand(), p.queueCommand(), p.statusCommand(), p.holdsCommand(),
		p.breakersCommand(), p.planCommand())
}
