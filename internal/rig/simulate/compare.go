package simulate

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Compare plays storms, several at a time, and hands each result to done in the
// order of storms, from one goroutine at a time. It ends with the first error, of
// a storm or of done, or when ctx ends. hosts, when not nil, counts the hosts of
// all storms that are through.
func Compare(ctx context.Context, storms []Options, hosts *atomic.Int64, done func(i int, r Result) error) error {
	play := func(ctx context.Context, i int) (Result, error) { return run(ctx, storms[i], hosts) }
	return InOrder(ctx, len(storms), play, done)
}

// InOrder plays n things, several at a time, and hands each outcome to done in their order, from one
// goroutine at a time. It ends with the first error, of play or of done; play hears of it by its context.
func InOrder[T any](ctx context.Context, n int, play func(ctx context.Context, i int) (T, error), done func(i int, out T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		out T
		err error
	}
	results := make([]chan outcome, n)
	for i := range results {
		results[i] = make(chan outcome, 1)
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				out, err := play(ctx, i)
				results[i] <- outcome{out, err}
			}
		})
	}
	for i, result := range results {
		o := <-result
		if o.err != nil {
			return o.err
		}
		if err := done(i, o.out); err != nil {
			return err
		}
	}
	return nil
}
