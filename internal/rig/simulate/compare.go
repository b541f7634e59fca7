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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		out Result
		err error
	}
	results := make([]chan outcome, len(storms))
	for i := range results {
		results[i] = make(chan outcome, 1)
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	for range min(len(storms), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(storms) {
					return
				}
				out, err := run(ctx, storms[i], hosts)
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
