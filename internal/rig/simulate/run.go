package simulate

import (
	"context"
	"sync/atomic"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// Run plays one storm. The error is a wrong option, or a part that cannot be made;
// a limit that did not hold is none, see measure.Summary.
func Run(ctx context.Context, o Options) (Result, error) { return run(ctx, o, nil) }

func run(ctx context.Context, o Options, hosts *atomic.Int64) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	if ended(ctx) {
		return Result{Seed: o.Seed, Summary: measure.Summary{Policy: o.Policy, Via: o.Via, Limit: o.Limit, Why: interrupted}}, nil
	}
	s, err := newSim(o)
	if err != nil {
		return Result{}, err
	}
	s.progress = hosts
	why, err := s.play(ctx)
	if err != nil {
		return Result{}, err
	}
	return s.meter.result(why), nil
}
