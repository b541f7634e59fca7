package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

// readyEvery is how often somebody is asked who is not ready yet.
const readyEvery = 50 * time.Millisecond

// Every asks at once and then at each tick, until done, an error, or the end of ctx.
func Every(ctx context.Context, tick time.Duration, done func() (bool, error)) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// Await is Every for a test, which fails when the answer does not come in time. last says
// what there was instead.
func Await(tb testing.TB, tick, most time.Duration, what string, done func() bool, last func() string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), most) // also while it cleans up
	defer cancel()
	if err := Every(ctx, tick, func() (bool, error) { return done(), nil }); err != nil {
		tb.Fatalf("no %s: %s", what, last())
	}
}

// WaitReady asks until there is no error any more. Its own error is that ctx has ended
// before, or one of the watched processes.
func WaitReady(ctx context.Context, ask func() error, watched ...*Process) error {
	last := errors.New("not asked yet")
	err := Every(ctx, readyEvery, func() (bool, error) {
		for _, p := range watched {
			if !p.Running() {
				return false, fmt.Errorf("%s ended before it was ready: %w", p.Name(), errors.Join(p.Err(), last))
			}
		}
		err := ask()
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("not ready: %w (last: %w)", err, last)
	}
	return err
}

// ReadyFile waits until the process has written the JSON file that tells where it listens,
// as the product does with --ready-file, and reads it.
func (p *Process) ReadyFile(ctx context.Context, file string, into any) error {
	return WaitReady(ctx, func() error {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, into)
	}, p)
}
