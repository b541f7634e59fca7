// Stress plays the storms that the product must stand, for all policies side by
// side, and holds the throttle against its bounds (docs/dev/benchmarks.md):
//
//	go run ./hack/stress
//	go run ./hack/stress -seeds 1 -storms equal,single -others=false
//
// It ends with 1 when a bound is broken.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate/stress"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUse):
		fmt.Fprintln(os.Stderr, "stress:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "stress:", err)
		os.Exit(1)
	}
}

var errUse = errors.New("wrong use")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	plan, err := parse(args, stderr)
	if err != nil {
		return err
	}
	debug.SetGCPercent(400) // nothing else runs here
	begin := time.Now()
	var through atomic.Int64
	stop := report(stderr, begin, plan.Hosts(), &through)
	cases, err := plan.Play(ctx, &through)
	stop()
	if err != nil {
		return err
	}
	findings := plan.Judge(cases)
	if err := plan.Write(stdout, cases, findings); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%d storms in %v\n", len(cases), time.Since(begin).Round(time.Second))
	if slices.ContainsFunc(findings, func(f stress.Finding) bool { return !f.Kept }) {
		return errors.New("a bound is broken")
	}
	return nil
}

func parse(args []string, stderr io.Writer) (stress.Plan, error) {
	fs := flag.NewFlagSet("stress", flag.ContinueOnError)
	fs.SetOutput(stderr)
	seeds := fs.Int("seeds", 10, "seeds of each storm and way in, from 1 on")
	names := fs.String("storms", "", "play these alone, by name with commas; those that they are compared with are added")
	others := fs.Bool("others", true, "play the other policies too")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return stress.Plan{}, err
		}
		return stress.Plan{}, fmt.Errorf("%w: %w", errUse, err)
	}
	if fs.NArg() > 0 || *seeds < 1 || *seeds > 1000 {
		return stress.Plan{}, fmt.Errorf("%w: -seeds must be 1 to 1000, and nothing may follow the flags", errUse)
	}
	plan := stress.Plan{Seeds: *seeds, Others: *others}
	var err error
	if plan.Storms, err = stress.Choose(strings.FieldsFunc(*names, func(r rune) bool { return r == ',' })); err != nil {
		return stress.Plan{}, fmt.Errorf("%w: -storms: %w", errUse, err)
	}
	return plan, nil
}

// report writes a line now and then until the function that it returns is called.
func report(to io.Writer, begin time.Time, all int, through *atomic.Int64) (stop func()) {
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(15 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				n := through.Load()
				fmt.Fprintf(to, "%3d %%  %d of %d hosts through, %v\n", 100*n/int64(all), n, all, time.Since(begin).Round(time.Second))
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
	}
}
