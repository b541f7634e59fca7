// Command cmd is the throttle as `serve` runs it, for a build with -cover: each line of its stdin is a command, each
// line of its stdout the answer. It ends with stdin.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/coverage"

	"github.com/ironic-throttle/ironic-throttle/internal/app"
	"github.com/ironic-throttle/ironic-throttle/internal/config"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, warnings, err := config.Load(config.Sources{})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	throttle, err := app.New(ctx, app.Options{Config: c, Warnings: warnings, Log: log})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- throttle.Run(ctx) }()
	for lines := bufio.NewScanner(in); err == nil && lines.Scan(); {
		answer := "done"
		switch command := lines.Text(); command {
		case "urls":
			answer = throttle.Addresses()["api"] + " " + throttle.Addresses()["gateway"]
		case "clear":
			err = coverage.ClearCounters()
		default: // a folder to write the counters to
			err = errors.Join(coverage.WriteMetaDir(command), coverage.WriteCountersDir(command))
		}
		if err == nil {
			_, err = fmt.Fprintln(out, answer)
		}
	}
	cancel()
	return errors.Join(err, <-ended)
}
