package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Run plays one storm. The error is a wrong option, a part that could not be made, or that ctx has ended. A limit that
// did not hold is not an error: see Result.Exceeded.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	s, err := newSim(o)
	if err != nil {
		return Result{}, err
	}
	why, err := s.play(ctx)
	if err != nil {
		return Result{}, err
	}
	return s.meter.result(why), nil
}

// Output is where a comparison prints: results to Stdout, all else to Stderr.
type Output struct {
	Stdout, Stderr io.Writer
	JSON           bool // each result is a JSON object on a line, instead of a column of a table
}

// Run plays all storms, several at a time, and prints their results. The grid must be valid. The same options print the
// same results.
func (g *Grid) Run(ctx context.Context, out Output) ([]Result, error) {
	if len(g.Limits) > 1 && g.BootCapacity == 0 {
		fmt.Fprintln(out.Stderr, "without --boot-capacity each limit has a network made for it, so a larger limit always "+
			"looks better; tell what yours can boot at once, such as --boot-capacity 30")
	}
	storms := g.Storms()
	results := make([]Result, len(storms))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, o := range storms {
		all.Go(func() (err error) {
			results[i], err = Run(ctx, o)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	for _, r := range results {
		if r.Why != "" {
			fmt.Fprintf(out.Stderr, "%s, limit %d: not finished: %s\n", r.Policy, r.Limit, r.Why)
		}
	}
	if g.Plot != "" {
		picture, err := svg(results)
		if err == nil {
			err = os.WriteFile(g.Plot, picture, 0o644)
		}
		if err != nil {
			return results, fmt.Errorf("--plot %s: %w", g.Plot, err)
		}
	}
	if !out.JSON {
		return results, writeTable(out.Stdout, results)
	}
	for _, r := range results {
		if err := json.NewEncoder(out.Stdout).Encode(r); err != nil {
			return results, err
		}
	}
	return results, nil
}

// Failed reports whether the limit did not hold, or a storm did not end. If the throttle is among the policies, only
// its storms count: the comparison is to show that the others break the limit.
func Failed(results []Result) bool {
	ours := func(r Result) bool { return r.Policy == PolicyThrottle }
	among := slices.ContainsFunc(results, ours)
	return slices.ContainsFunc(results, func(r Result) bool {
		return (!among || ours(r)) && (r.Exceeded() || r.Why != "")
	})
}
