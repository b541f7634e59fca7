package lab

import (
	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

const simulateHelp = `Plays a storm of hosts in virtual time, so that a limit can be tried before living
with it: an Ironic, an operator that wants all hosts provisioned at once, and the
real decision of the throttle, or the rules that users have today. Days take
seconds, and the same flags print the same bytes.

--limit, --policy and --breaker take several values: every storm of the comparison is a
column of the table, or with -o json an object on a line of its own. --plot draws
the hosts that work over time, for up to six storms.

With --boot-capacity, what your network can boot at once, a larger limit can be a
worse one, as in life. Without it each limit has a network made for it. --boot-model
says how more boots than that share it.

--limit-mode adaptive lets the throttle find the limit below --limit, as
IRONIC_THROTTLE_LIMIT_MODE does. The picture then shows the limit in force.

--scenario lets something go wrong with many hosts at once: an image that is bad for ten
hours, or one rack of four that is dead from 0h30m to 6h. --breaker on,off shows side by
side what the throttle's answer to it is worth.

Of what is printed, the peak is counted inside the fake Ironic and not by the throttle.
Slots occupied are those while more than --limit healthy hosts wait. A wait is from
when a host wants to start until Ironic's yes to its PUT. Fairness is 1 where all
tenants with waiting hosts get as many slots, and 1/tenants where one gets all.

Exit codes: 0 the limit held, 1 not, or a storm did not end, 2 wrong use. Where the
throttle is among the policies it alone decides about 0 or 1: that the others
break the limit is what the comparison is for.`

const simulateExample = `  ironic-throttle-lab simulate --hosts 600 --limit 20,40 --boot-capacity 30 --policy throttle,bmo
  ironic-throttle-lab simulate --limit 10,20,40,80 --boot-capacity 30 --plot limits.svg
  ironic-throttle-lab simulate --tenant-hosts 1000,30,30 --policy throttle,bmo -o json
  ironic-throttle-lab simulate --scenario bad-image --breaker on,off
  ironic-throttle-lab simulate --limit 100 --limit-mode adaptive --boot-capacity 50`

func (p *process) simulateCommand() *cobra.Command {
	g := simulate.DefaultGrid()
	cmd := &cobra.Command{
		Use: "simulate", Short: "try a limit in virtual time, beside BMO's own rule",
		Long: simulateHelp, Example: simulateExample, Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := g.Validate(); err != nil {
				return err
			}
			results, err := g.Run(cmd.Context(), p.output())
			switch {
			case err != nil:
				return cli.Exit(cli.No, err)
			case simulate.Failed(results):
				return cli.Exit(cli.No, nil) // the results say it
			}
			return nil
		},
	}
	cmd.Flags().SortFlags = false
	g.Flags(cmd.Flags())
	return cmd
}
