package realkube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/child"
)

const (
	readyEvery     = 100 * time.Millisecond
	requestTimeout = 30 * time.Second
	maxReadyBody   = 4 << 10
)

// waitReady waits until the API server says so and none of the processes has ended.
func (k *Kube) waitReady(ctx context.Context, watched ...*child.Process) error {
	ctx, cancel := context.WithTimeout(ctx, k.ready)
	defer cancel()
	last := errors.New("not asked yet")
	err := every(ctx, func() (bool, error) {
		for _, p := range watched {
			if !p.Running() {
				return false, fmt.Errorf("%s ended before it was ready: %w", p.Name(), errors.Join(p.Err(), last))
			}
		}
		if err := k.askReady(ctx); err != nil {
			if ctx.Err() == nil {
				last = err
			}
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("not ready: %w (last: %w)", err, last)
	}
	return nil
}

func (k *Kube) askReady(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.URL+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := k.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReadyBody))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz: %s: %s", resp.Status, body)
	}
	return nil
}

// every asks at once and then again and again, until done, an error, or the end of ctx.
func every(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
