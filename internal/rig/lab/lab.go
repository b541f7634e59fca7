// Package lab is the program ironic-throttle-lab: storms of hosts, and an Ironic without hardware.
package lab

import (
	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

const rootHelp = `ironic-throttle-lab tries ironic-throttle out without hardware, Ironic or cluster: storms
of hosts that are played in this process or in virtual time, and an Ironic to stand
behind a throttle. It is no part of the throttle, and not in its image.

Exit codes: 0 done, and the limit held, 1 not, 2 wrong use. With -o json stdout holds
JSON alone; progress and errors go to stderr.`

const rootExample = `  # a storm of hosts against the throttle
  ironic-throttle-lab demo

  # a limit in virtual time
  ironic-throttle-lab simulate --hosts 600 --limit 20,40 --boot-capacity 30

  # a fake Ironic with 100 nodes, and the throttle in front of it
  ironic-throttle-lab fake-ironic --nodes 100 --speed 60 &
  IRONIC_ENDPOINT=http://127.0.0.1:6385 ironic-throttle serve &`

// Main runs the program, and returns its exit code.
func Main() int { return cli.Run(Root) }

// process has what commands need of the process that they run in.
type process struct{ *cli.Process }

func (p *process) output() simulate.Output {
	return simulate.Output{Stdout: p.Stdout, Stderr: p.Stderr, JSON: p.JSON}
}

// Root returns the root command.
func Root(c *cli.Process) *cobra.Command {
	p := &process{c}
	return c.Root(&cobra.Command{
		Use: "ironic-throttle-lab", Short: "tries ironic-throttle out without hardware",
		Long: rootHelp, Example: rootExample,
	}, p.demoCommand(), p.simulateCommand(), p.fakeIronicCommand())
}
