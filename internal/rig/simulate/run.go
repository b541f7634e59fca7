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

// Run plays one storm. The error is a wrong option, a part that cannot be made, or a ctx that ended;
// a limit that did not hold is none, see Result.Exceeded.
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

// Output is where a comparison speaks to. Results go to Stdout, all else to Stderr.
type Output struct {
	Stdout, Stderr io.Writer
	JSON           bool // one JSON object a line, instead of a table
}

// Run plays all storms, several at a time, and prints what they came to; the grid must be valid. What
// is printed depends on the options alone.
func (g *Grid) Run(ctx context.Context, out Output) ([]Result, error) {
	if len(g.Limits) > 1 && g.BootCapacity == 0 {
		fmt.Fprintln(out.Stderr, "without --boot-capacity each limit has a network made for it, so a larger limit always looks better; "+
			"tell what yours can boot at once, such as --boot-capacity 30")
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

// Failed tells whether a comparison ends in a no: the limit did not hold, or a
// storm did not end. Where the throttle is compared with others it is the one that
// counts: that they break the limit is what the comparison is for.
func Failed(results []Result) bool {
	ours := func(r Result) bool { return r.Policy == PolicyThrottle }
	among := slices.ContainsFunc(results, ours)
	return slices.ContainsFunc(results, func(r Result) bool {
		return (!among || ours(r)) && (r.Exceeded() || r.Why != "")
	})
}
