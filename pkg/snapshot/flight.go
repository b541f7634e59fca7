package snapshot

import (
	"context"
	"runtime/debug"
)

// flight is a call of a function of the options that several Gets may wait for.
type flight struct {
	done chan struct{} // closed at the end; what the flight brought is set before
	err  *Error

	cancel context.CancelFunc

	// Guarded by the entry's mu.
	waiters int
	left    bool // nobody waits any more: cancelled, and not to be joined
}

// newFlight returns one with the caller as its waiter. Until its end it has failed: so
// it has when its function ends the goroutine.
func newFlight(op string, key any, cancel context.CancelFunc) flight {
	return flight{done: make(chan struct{}), err: &Error{Op: op, Key: key, Err: errGone}, cancel: cancel, waiters: 1}
}

// await waits for the end of f, in which the caller was counted as a waiter. Its error
// is that of ctx, or ErrClosed; f.err is for the caller to look at.
func (c *Cache[K, V]) await(ctx context.Context, e *entry[V], f *flight) error {
	err := c.until(ctx, f.done)
	if err == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	f.waiters--
	if f.waiters == 0 && !c.o.Finish {
		f.left = true
		f.cancel()
	}
	return err
}

// until waits for done.
func (c *Cache[K, V]) until(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return ErrClosed
	}
}

// protect calls f. Its failures, a panic too, come back as an *Error of op.
func protect[K, R any](op string, key K, f func() (R, error)) (r R, fault *Error) {
	var err error
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		if err != nil {
			fault = &Error{Op: op, Key: key, Err: err}
		}
	}()
	r, err = f()
	return r, nil
}
