package limits

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// Plan says what is played with an adaptive limit.
type Plan struct {
	Cells []Cell
	Seeds int // 1..Seeds of each
	// Warm is how many hosts of the same site a storm before each one has, in which the throttle learns; 0
	// is none: it knows nothing.
	Warm  int
	Table Table
	// Told plays a yardstick instead of the adaptive limit: 20, or the best fixed limit of the cell if that is lower, and
	// that one from about the end of the first window on.
	Told bool
}

// Case is one cell with its storms.
type Case struct {
	Cell Cell
	Runs []Run
}

// Run is what a storm came to.
type Run struct {
	Seed     uint64
	Makespan float64 // in seconds
	// Peak is the most hosts that worked at once, Highest the highest limit in force.
	Peak, Highest int
	LimitMean     float64
	LimitAtEnd    int
	Recommended   int // 0: there was not enough evidence
	// Settled is after how many windows the limit had followed the change of capacity; -1: nobody can tell.
	Settled int
}

// Play plays all storms, several at a time. storms counts those that are over; it may be nil. With an error
// it returns the cells of which all storms were over.
func (p Plan) Play(ctx context.Context, storms *atomic.Int64) ([]Case, error) {
	out := make([]Case, len(p.Cells))
	play := func(ctx context.Context, i int) (Run, error) {
		r, err := p.play(ctx, p.Cells[i/p.Seeds], uint64(i%p.Seeds+1))
		if storms != nil {
			storms.Add(1)
		}
		return r, err
	}
	err := simulate.InOrder(ctx, len(p.Cells)*p.Seeds, play, func(i int, r Run) error {
		c := &out[i/p.Seeds]
		c.Cell, c.Runs = p.Cells[i/p.Seeds], append(c.Runs, r)
		return nil
	})
	return slices.DeleteFunc(out, func(c Case) bool { return len(c.Runs) < p.Seeds }), err
}

// firstWindow is less than an adaptive limit stays where it begins: boots take 120 to 360 s without load, so that half of
// them have ended then, and a window is judged when nine of ten have.
const firstWindow = 4 * time.Minute

// play plays one storm, after the one in which the throttle learns.
func (p Plan) play(ctx context.Context, c Cell, seed uint64) (Run, error) {
	o := c.Storm(c.Ceiling(), seed)
	o.Adaptive = !p.Told
	if p.Told {
		if o.Limit, _ = p.Table[c].Best(c.Ceiling()); o.Limit == 0 {
			return Run{}, fmt.Errorf("%s: no fixed limits are known", c)
		}
		o.FirstLimit, o.FirstFor = min(usual, o.Limit), firstWindow
	}
	if p.Warm > 0 {
		before := c
		before.Hosts, before.Halved = p.Warm, false
		w := before.Storm(c.Ceiling(), seed+1000)
		w.Adaptive = true
		r, err := run(ctx, w)
		if err != nil {
			return Run{}, fmt.Errorf("%s, seed %d, the storm before: %w", c, seed, err)
		}
		const settle = 2 * time.Minute // more than the throttle takes before a storm begins
		o.Learned, o.Later = r.Learned, settle+time.Duration(r.MakespanSeconds*float64(time.Second))
	}
	r, err := run(ctx, o)
	if err != nil {
		return Run{}, fmt.Errorf("%s, seed %d: %w", c, seed, err)
	}
	out := Run{
		Seed: seed, Makespan: r.MakespanSeconds, Peak: r.PeakWorking, Highest: r.LimitAtEnd, LimitMean: r.LimitMean,
		LimitAtEnd: r.LimitAtEnd, Recommended: r.RecommendedLimit, Settled: -1,
	}
	for _, w := range r.Windows {
		out.Highest = max(out.Highest, w.Limit)
	}
	if c.Halved {
		out.Settled = settled(r.Windows, r.Begun.Add(o.BootChange.At))
	}
	return out, nil
}

// run plays a storm that must come to its end.
func run(ctx context.Context, o simulate.Options) (simulate.Result, error) {
	r, err := simulate.Run(ctx, o)
	switch {
	case err != nil:
		return r, err
	case ctx.Err() != nil:
		return r, ctx.Err()
	case r.Unfinished() != "":
		return r, fmt.Errorf("not finished: %s", r.Unfinished())
	}
	return r, nil
}

// settled is how many windows after step ended with a limit in force that was more than a quarter away from
// the one in the middle of all windows from then on. Fewer than three windows tell nothing.
func settled(windows []sizing.Window, step time.Time) int {
	const quarter, least = 0.25, 3
	var after []float64
	for _, w := range windows {
		if w.At.After(step) {
			after = append(after, float64(w.Limit))
		}
	}
	if len(after) < least {
		return -1
	}
	middle := Median(after)
	return slices.IndexFunc(after, func(l float64) bool { return max(l-middle, middle-l) <= quarter*middle })
}
