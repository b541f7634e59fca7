package lab

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/demo"
)

const demoHelp = `Plays a storm in this process, on loopback: a fake Ironic, a fake BMO that wants all
hosts provisioned at once, and the throttle between them. The BMO knows nothing of
the throttle: its IRONIC_ENDPOINT is the gateway. With --via check it asks the throttle
before it acts.
No cluster and no Ironic are needed.

Progress goes to stderr and the summary to stdout. Its peak of working hosts is the
truth inside the fake Ironic, not the throttle's own count.

Exit codes: 0 the limit held and the storm was played to its end, 1 not, 2 wrong use.`

const demoExample = `  ironic-throttle-lab demo
  ironic-throttle-lab demo --via check
  ironic-throttle-lab demo --hosts 200 --limit 20 --failing 0.1 -o json`

// demoGCPercent trades memory for time: a storm keeps some megabytes and allocates a thousand times as much, and all
// its parts share one process.
const demoGCPercent = 800

func (p *process) demoCommand() *cobra.Command {
	o := demo.DefaultOptions()
	cmd := &cobra.Command{
		Use: "demo", Short: "play a storm of hosts against the throttle",
		Long: demoHelp, Example: demoExample, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			o.Version = cli.Version()
			debug.SetGCPercent(demoGCPercent)
			summary, err := demo.Run(cmd.Context(), o, p.output())
			switch {
			case err != nil:
				return cli.Exit(cli.No, err)
			case summary.Exceeded(), summary.Interrupted:
				return cli.Exit(cli.No, nil) // the summary says it
			}
			return nil
		},
	}
	cmd.Flags().SortFlags = false
	o.Flags(cmd.Flags())
	return cmd
}
