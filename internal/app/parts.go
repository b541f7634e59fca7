package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// stopTimeout bounds the end of all parts together. The servers take up to 4 s
// of it for requests in flight.
const stopTimeout = 4800 * time.Millisecond

// part is something that runs until its context ends.
type part struct {
	name string
	run  func(context.Context) error
}

// running is a part that was started.
type running struct {
	name string
	stop context.CancelFunc
	done chan struct{} // closed at its end; err is set then
	err  error
}

// runParts starts the parts in order and waits until ctx ends or one of them
// fails. Then it ends them one by one, the last one first, all within grace. A
// part that ends without error before that is done with its work and no reason
// to stop.
func runParts(ctx context.Context, parts []part, grace time.Duration) error {
	// Each part has its own end, so none of them hears of the end of ctx.
	base := context.WithoutCancel(ctx)
	failed := make(chan struct{}, len(parts))
	all := make([]*running, 0, len(parts))
	for _, p := range parts {
		partCtx, stop := context.WithCancel(base)
		r := &running{name: p.name, stop: stop, done: make(chan struct{})}
		all = append(all, r)
		go func() {
			defer close(r.done)
			if r.err = p.run(partCtx); r.err != nil {
				failed <- struct{}{}
			}
		}()
	}
	select {
	case <-ctx.Done():
	case <-failed:
	}
	end, cancel := context.WithTimeout(base, grace)
	defer cancel()
	var errs []error
	for _, r := range slices.Backward(all) {
		errs = append(errs, r.finish(end))
	}
	return errors.Join(errs...)
}

// finish ends r and waits for that until end.
func (r *running) finish(end context.Context) error {
	r.stop()
	select {
	case <-r.done:
		if r.err != nil {
			return fmt.Errorf("%s: %w", r.name, r.err)
		}
		return nil
	case <-end.Done():
		return fmt.Errorf("%s: did not end in time", r.name)
	}
}
