// Limits plays sites and storms of many kinds with an adaptive limit, and compares it with the best fixed one
// (docs/dev/benchmarks.md):
//
//	go run ./hack/limits
//	go run ./hack/limits -cells cliff-25,shared-25 -hosts 200 -seeds 3
//	go run ./hack/limits -sweep -fixed mine.jsonl -hosts 500
//
// With -strict it ends with 1 when a bound is broken.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate/limits"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUse):
		fmt.Fprintln(os.Stderr, "limits:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "limits:", err)
		os.Exit(1)
	}
}

var errUse = errors.New("wrong use")

// options are what the command line says.
type options struct {
	plan          limits.Plan
	file          string // of fixed limits
	sweep, strict bool
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	debug.SetGCPercent(400) // nothing else runs here
	if o.plan.Table, err = read(o.file, o.sweep); err != nil {
		return err
	}
	if o.sweep {
		return o.makeFixed(ctx, stdout, stderr)
	}
	begin := time.Now()
	var over atomic.Int64
	stop := report(stderr, begin, int64(len(o.plan.Cells)*o.plan.Seeds), &over)
	cases, err := o.plan.Play(ctx, &over)
	stop()
	found, unknown := o.plan.Judge(cases)
	if err := limits.Write(stdout, found, unknown); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%d storms in %v\n", over.Load(), time.Since(begin).Round(time.Second))
	switch {
	case err != nil:
		return fmt.Errorf("%w; the table shows the %d of %d cells that were played whole", err, len(cases), len(o.plan.Cells))
	case len(found) == 0:
		return fmt.Errorf("%s knows none of these cells: play them with -sweep", o.file)
	case o.strict && !limits.Summarize(found).Kept():
		return errors.New("a bound is broken")
	}
	return nil
}

func parse(args []string, stderr io.Writer) (options, error) {
	fs := flag.NewFlagSet("limits", flag.ContinueOnError)
	fs.SetOutput(stderr)
	var o options
	cells := fs.String("cells", "", "play these alone: parts of their names, such as cliff-25, with commas")
	hosts := fs.String("hosts", "200,3000", "hosts of the storms, with commas")
	fs.IntVar(&o.plan.Seeds, "seeds", 10, "seeds of each cell, from 1 on")
	fs.IntVar(&o.plan.Warm, "warm", 0, "hosts of a storm before each one, in which the throttle learns; 0: none")
	fs.BoolVar(&o.plan.Told, "told", false, "play a yardstick in place of the adaptive limit: 20 for four minutes, and then the best fixed limit of the cell")
	fs.StringVar(&o.file, "fixed", "internal/rig/simulate/limits/testdata/fixed.jsonl", "file of what is known of fixed limits")
	fs.BoolVar(&o.sweep, "sweep", false, "play fixed limits of the cells that the file lacks, and add them to it")
	fs.BoolVar(&o.strict, "strict", false, "end with 1 when a bound is broken")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w: %w", errUse, err)
	}
	const most = 100_000
	switch {
	case fs.NArg() > 0 || o.plan.Seeds < 1 || o.plan.Seeds > 1000:
		return o, fmt.Errorf("%w: -seeds must be 1 to 1000, and nothing may follow the flags", errUse)
	case o.plan.Told && (o.plan.Warm > 0 || o.sweep):
		return o, fmt.Errorf("%w: -told goes with neither -warm nor -sweep", errUse)
	case o.plan.Warm < 0 || o.plan.Warm > most:
		return o, fmt.Errorf("%w: -warm %d: must be 0 to %d", errUse, o.plan.Warm, most)
	}
	var sizes []int
	for _, word := range words(*hosts) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 2 || n > most {
			return o, fmt.Errorf("%w: -hosts %q: must be numbers of 2 to %d", errUse, word, most)
		}
		sizes = append(sizes, n)
	}
	if o.plan.Cells = limits.Choose(limits.Cells(sizes...), words(*cells)); len(o.plan.Cells) == 0 {
		return o, fmt.Errorf("%w: -cells %q, -hosts %q: there is no such cell", errUse, *cells, *hosts)
	}
	return o, nil
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// read reads the file of fixed limits; where they are played it need not be there.
func read(path string, played bool) (limits.Table, error) {
	f, err := os.Open(path)
	if played && errors.Is(err, fs.ErrNotExist) {
		return limits.Table{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("-fixed: %w", err)
	}
	defer f.Close()
	t, err := limits.ReadTable(f)
	if err != nil {
		return nil, fmt.Errorf("-fixed %s: %w", path, err)
	}
	return t, nil
}

// makeFixed plays what the file lacks, and adds each cell to it when it and all before are over.
func (o *options) makeFixed(ctx context.Context, stdout, stderr io.Writer) error {
	missing := o.plan.Table.Missing(o.plan.Cells)
	f, err := os.OpenFile(o.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("-fixed: %w", err)
	}
	begin, n := time.Now(), 0
	err = limits.Sweep(ctx, missing, o.plan.Seeds, func(c limits.Cell, fixed limits.Fixed) error {
		limit, makespan := fixed.Best(c.Ceiling())
		n++
		fmt.Fprintf(stdout, "%s: best %d, %.0f s\n", c, limit, makespan)
		return limits.Append(f, c, fixed)
	})
	fmt.Fprintf(stderr, "%d of %d cells in %v\n", n, len(missing), time.Since(begin).Round(time.Second))
	return errors.Join(err, f.Close())
}

// report writes a line now and then until the function that it returns is called.
func report(to io.Writer, begin time.Time, all int64, over *atomic.Int64) (stop func()) {
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
				n := over.Load()
				fmt.Fprintf(to, "%3d %%  %d of %d storms, %v\n", 100*n/all, n, all, time.Since(begin).Round(time.Second))
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
	}
}
