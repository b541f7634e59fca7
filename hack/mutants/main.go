// Mutants breaks a package in many small ways, one at a time, and tells which of them its tests do not
// notice (docs/reliability.md):
//
//	go run ./hack/mutants ./pkg/slots
//	go run ./hack/mutants -n 100 -seed 7 ./pkg/breaker ./pkg/holdoff
//	go run ./hack/mutants -list ./pkg/slots
//
// All mutants of a package are compiled into one test binary, each behind a condition; an environment variable
// chooses one. So a mutant costs a run of the tests and no compilation. What a package's own tests let live is
// run against the tests of a package that uses it.
//
// It ends with 1 when a package's score is below -floor. Survivors that change nothing are listed, with the reason, in
// hack/mutants/equivalent.txt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// users names the packages whose tests get what a package's own tests let live.
var users = map[string][]string{
	"pkg/slots":                 {"./pkg/admission"},
	"pkg/fairshare":             {"./pkg/admission"},
	"pkg/breaker":               {"./pkg/admission"},
	"pkg/holdoff":               {"./pkg/admission", "./internal/store"},
	"pkg/sizing":                {"./pkg/admission"},
	"pkg/admission":             {"./internal/inventory", "./internal/gateway"},
	"pkg/disruption":            {"./internal/planner"},
	"internal/gateway/classify": {"./internal/gateway"},
}

// options are what the command line says.
type options struct {
	n     int
	seed  uint64
	only  string // part of a key
	list  bool
	own   bool // without the tests of its users
	floor float64
	pkgs  []string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("mutants", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.n, "n", 200, "mutants of each package, chosen by -seed; 0 is all")
	f.Uint64Var(&o.seed, "seed", 1, "chooses the mutants")
	f.StringVar(&o.only, "only", "", "only mutants whose description has this `text`")
	f.BoolVar(&o.list, "list", false, "list the mutants and run nothing")
	f.BoolVar(&o.own, "own", false, "only the package's own tests")
	f.Float64Var(&o.floor, "floor", 90, "`percent` of the mutants that the tests have to notice, in each package")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.pkgs = f.Args(); len(o.pkgs) == 0 {
		return o, errors.New("name a package, like ./pkg/slots")
	}
	return o, nil
}

// result is one row of the table.
type result struct {
	pkg                                              string
	mutants, killed, timedOut, survivors, equivalent int
}

// score is the percentage of the mutants that tests noticed; those that change nothing count on neither side.
func (r result) score() float64 {
	if r.mutants == r.equivalent {
		return 100
	}
	return 100 * float64(r.killed) / float64(r.mutants-r.equivalent)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	known, err := readEquivalent(filepath.Join("hack", "mutants", "equivalent.txt"))
	if err != nil {
		return err
	}
	var all []result
	for _, path := range o.pkgs {
		p, err := load(ctx, path)
		if err != nil {
			return err
		}
		found := p.mutants()
		if stale := known.stale(p.rel, found); len(stale) > 0 {
			return fmt.Errorf("hack/mutants/equivalent.txt lists what is no mutant any more:\n%s", strings.Join(stale, "\n"))
		}
		chosen := choose(found, o.n, o.seed, o.only)
		if o.list {
			for _, m := range chosen {
				fmt.Fprintln(stdout, m.key)
			}
			continue
		}
		fmt.Fprintf(stdout, "%s: %d of %d mutants, seed %d\n", p.rel, len(chosen), len(found), o.seed)
		r, err := try(ctx, p, chosen, known, o, stdout)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, r)
	}
	if o.list {
		return nil
	}
	return show(stdout, all, o.floor)
}

// show prints the table.
func show(w io.Writer, all []result, floor float64) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "package\tmutants\tkilled\tof them by time\tsurvived\tequivalent\tscore\t")
	var low []string
	for _, r := range all {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f %%\t\n", r.pkg, r.mutants, r.killed, r.timedOut, r.survivors, r.equivalent, r.score())
		if r.score() < floor {
			low = append(low, r.pkg)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(low) > 0 {
		return fmt.Errorf("below %g %%: %s", floor, strings.Join(low, ", "))
	}
	return nil
}
