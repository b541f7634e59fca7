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

// part runs until its context ends, or until its work is done.
type part struct {
	name string
	run  func(context.Context) error
	last bool // the others need it until they have ended
}

// runParts runs parts until ctx ends or one of them fails. Then it ends them, the last ones when the others have ended.
// It waits no longer than within, because a disk may hang. The error names each part that failed or has not ended.
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
	left := map[string]bool{} // the last of each part that has not ended
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
