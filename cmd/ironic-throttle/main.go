// Command ironic-throttle limits how many bare-metal hosts work at once.
//
// Each subcommand has a file of its own. The exit codes are those of internal/cli.
package main

import (
	"os"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func main() { os.Exit(cli.Run(root)) }

// process is what the commands see of the process that they run in.
type process struct {
	*cli.Process

	server string      // the URL of the throttle that is asked
	access api.Options // of it
}
