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

// Loopback is the address on which all servers of tests listen.
const Loopback = "127.0.0.1"

// FreePorts returns n different free ports of Loopback. They are below the kernel's range for outgoing connections, so
// a server that stops and starts again finds its port free.
func FreePorts(n int) (ports []int, err error) {
	for range 200 {
		port := 16400 + rand.IntN(32000-16400)
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", Loopback, port))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }() // the port stays taken until all are found
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("no free port on " + Loopback)
}

// Every calls done at once and then at each tick, until it is true or fails, or ctx ends.
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

// Await is Every for a test: the test fails after most. last says what there was instead.
func Await(tb testing.TB, tick, most time.Duration, what string, done func() bool, last func() string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), most) // works also in a Cleanup
	defer cancel()
	if err := Every(ctx, tick, func() (bool, error) { return done(), nil }); err != nil {
		tb.Fatalf("no %s: %s", what, last())
	}
}

// WaitReady calls ask until it returns no error. It fails if ctx ends before that, or one of the watched processes.
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
