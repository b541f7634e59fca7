package child

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// Loopback is the address that everything here listens on.
const Loopback = "127.0.0.1"

// FreePorts returns n different ports of Loopback that nobody listens on, below the range that the kernel uses for
// outgoing connections: a stopped server must find its port free when it comes back.
func FreePorts(n int) (ports []int, err error) {
	for range 200 {
		port := 16400 + rand.IntN(32000-16400)
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", Loopback, port))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }() // held until all are found
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("no free port on " + Loopback)
}

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
	var last error
	err := Every(ctx, 50*time.Millisecond, func() (bool, error) {
		for _, p := range watched {
			if !p.Running() {
				return false, fmt.Errorf("%s ended before it was ready: %w", p.name, p.Err())
			}
		}
		err := ask()
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		err = fmt.Errorf("not ready: %w", errors.Join(err, last))
	}
	return err
}
