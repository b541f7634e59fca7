package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// part is something that runs until its context ends. One that ends without error before that is done with its work.
type part struct {
	name string
	run  func(context.Context) error
	last bool // others need it for their end
}

// runParts runs parts until ctx ends or one of them fails, then ends them, the last ones when the others have ended.
// It waits for that no longer than within, for nothing bounds what a disk takes. The error names each that went wrong.
func runParts(ctx context.Context, within time.Duration, parts ...part) error {
	first, end := context.WithCancel(ctx)
	defer end()
	last, endLast := context.WithCancel(context.WithoutCancel(ctx))
	defer endLast()
	type result struct {
		name string
		err  error
	}
	ended := make(chan result, len(parts))
	left := map[string]bool{} // those that have not ended: whether they are of the last
	for _, p := range parts {
		ctx := first
		if left[p.name] = p.last; p.last {
			ctx = last
		}
		go func() { ended <- result{p.name, p.run(ctx)} }()
	}
	var errs []error
	var late <-chan time.Time
	for ending := first.Done(); len(left) > 0; {
		select {
		case <-ending:
			ending, late = nil, time.After(within)
		case p := <-ended:
			if delete(left, p.name); p.err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p.name, p.err))
				end()
			}
		case <-late:
			names := strings.Join(slices.Sorted(maps.Keys(left)), ", ")
			return errors.Join(append(errs, fmt.Errorf("%s: not ended within %s", names, within))...)
		}
		if first.Err() != nil && !slices.Contains(slices.Collect(maps.Values(left)), false) {
			endLast()
		}
	}
	return errors.Join(errs...)
}
