package bmo

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
	mu    sync.Mutex // guards all below
	until time.Time  // so long Ironic is taken for ready
	look  *look      // on its way; nil: nobody looks
}

// look is one worker's, for all of them.
type look struct {
	done chan struct{} // closed at its end; err is set then
	err  error
}

// check returns errUnreachable where Ironic is not ready.
func (y *readiness) check(ctx context.Context, c *Client, believe time.Duration) error {
	now := time.Now()
	y.mu.Lock()
	l, mine := y.look, false
	switch {
	case now.Before(y.until):
		y.mu.Unlock()
		return nil
	case l == nil:
		l, mine = &look{done: make(chan struct{})}, true
		y.look = l
	}
	y.mu.Unlock()
	if !mine {
		<-l.done
		return l.err
	}
	l.err = c.ready(ctx)
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.look = nil; l.err == nil {
		y.until = now.Add(believe)
	}
	close(l.done)
	return l.err
}

// ready looks at Ironic itself and at its drivers.
func (c *Client) ready(ctx context.Context) error {
	for _, path := range []string{"/v1/", "/v1/drivers"} {
		if err := c.do(ctx, http.MethodGet, path, nil, nil); err != nil {
			return fmt.Errorf("%w: %w", errUnreachable, err)
		}
	}
	return nil
}
