package fakebmo

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// readiness is what stands before every reconcile: BMO looks whether Ironic
// answers at all and has drivers, and believes that for a while. Whatever goes
// wrong there, a proxy's 502 as well, is "provisioner is not ready", which is no
// error of a host. It is safe for concurrent use.
type readiness struct {
	mu    sync.Mutex // guards until
	until time.Time  // so long Ironic is taken for ready
}

// check returns errUnreachable where Ironic is not ready.
func (y *readiness) check(ctx context.Context, c *Client, believe time.Duration) error {
	now := time.Now()
	y.mu.Lock()
	ready := now.Before(y.until)
	y.mu.Unlock()
	if ready {
		return nil
	}
	for _, path := range []string{"/v1/", "/v1/drivers"} {
		if err := c.do(ctx, http.MethodGet, path, nil, nil); err != nil {
			return fmt.Errorf("%w: %w", errUnreachable, err)
		}
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.until = now.Add(believe)
	return nil
}
