// Package parts runs what a process is made of: it starts parts in order and ends them in
// the opposite order, each in its time.
package parts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Part is something that runs until its context ends.
type Part struct {
	Name string
	Run  func(context.Context) error
	// Grace is what it has at least for its end, whatever the others took.
	Grace time.Duration
}

// running is a part that was started.
type running struct {
	name string
	stop context.CancelFunc
	own  time.Duration // its own grace
	done chan struct{} // closed at its end; err is set then
	err  error
}

// Run starts the parts in order and waits until ctx ends or one of them fails. Then it
// ends them one by one, the last one first, all within grace but for what single parts
// have for themselves. A part that ends without error before that is done with its work
// and no reason to stop. The error is nil, or names each part that went wrong.
func Run(ctx context.Context, grace time.Duration, parts ...Part) error {
	// Each part has its own end, so none of them hears of the end of ctx.
	base := context.WithoutCancel(ctx)
	failed := make(chan struct{}, len(parts))
	all := make([]*running, 0, len(parts))
	for _, p := range parts {
		partCtx, stop := context.WithCancel(base)
		r := &running{name: p.Name, stop: stop, own: p.Grace, done: make(chan struct{})}
		all = append(all, r)
		go func() {
			defer close(r.done)
			if r.err = p.Run(partCtx); r.err != nil {
				failed <- struct{}{}
			}
		}()
	}
	select {
	case <-ctx.Done():
	case <-failed:
	}
	end := time.Now().Add(grace)
	var errs []error
	for _, r := range slices.Backward(all) {
		until := time.Now().Add(r.own)
		if until.Before(end) {
			until = end
		}
		errs = append(errs, r.finish(until))
	}
	return errors.Join(errs...)
}

// finish ends r and waits for that until then.
func (r *running) finish(until time.Time) error {
	r.stop()
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	select {
	case <-r.done:
	case <-late.C:
		select {
		case <-r.done: // just in time
		default:
			return fmt.Errorf("%s: did not end in time", r.name)
		}
	}
	if r.err != nil {
		return fmt.Errorf("%s: %w", r.name, r.err)
	}
	return nil
}
