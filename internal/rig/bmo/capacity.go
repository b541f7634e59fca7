package bmo

import (
	"context"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Capacity is the rule that is asked before a host starts work. It is called by
// all workers at once. An error is a reconcile error: the host comes back after
// a growing time.
type Capacity func(ctx context.Context, ask api.Ask) (bool, error)

// Throttle asks ironic-throttle. Without an answer it is a no: the limit holds.
func Throttle(c *api.Client) Capacity {
	return func(ctx context.Context, ask api.Ask) (bool, error) {
		answer, err := c.IsReady(ctx, ask)
		return err == nil && answer.Ready, nil
	}
}
