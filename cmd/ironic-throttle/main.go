// Command ironic-throttle limits how many bare-metal hosts work at once.
//
// Each subcommand has a file of its own; what they do is in internal/. The exit
// codes are those of exit.go.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version and commit are set by the linker (-X main.version=…).
var version, commit string

// process is what the commands see of the process that they run in.
type process struct {
	stdout, stderr io.Writer
	environ        []string
	json           bool // --output json
	width          int  // of the terminal; 0: that of stdout
}

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// From the first signal on the next one kills as if nobody listened.
	context.AfterFunc(ctx, stop)
	p := &process{stdout: os.Stdout, stderr: os.Stderr, environ: os.Environ()}
	return p.execute(ctx, os.Args[1:])
}
