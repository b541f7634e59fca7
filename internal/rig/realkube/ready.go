package realkube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

const (
	requestTimeout = 30 * time.Second
	maxReadyBody   = 4 << 10
)

// waitReady waits until the API server says so and none of the processes has ended.
func (k *Kube) waitReady(ctx context.Context, watched ...*child.Process) error {
	ctx, cancel := context.WithTimeout(ctx, k.ready)
	defer cancel()
	return child.WaitReady(ctx, func() error { return k.askReady(ctx) }, watched...)
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
