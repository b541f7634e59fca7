// Command ironic-throttle limits how many bare-metal hosts work at once.
//
// Each subcommand has its own file. The exit codes are those of internal/cli.
package main

import (
	"os"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func main() { os.Exit(cli.Run(root)) }

// process is cli.Process, and what the flags of remoteFlags say.
type process struct {
	*cli.Process

	server string      // the URL of the throttle
	access api.Options // its token and CAs
}
