package bmo

import (
	"context"
	"fmt"
	"strings"

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

// BuiltIn is the rule of the present BMO: it lists nodes, counts the busy ones
// by name, and lets a host pass while they are fewer than limit or when it is
// one of them. It decides and then acts, so its workers overtake each other, and
// it sees one page only.
func BuiltIn(c *Client, limit int) Capacity {
	return func(ctx context.Context, ask api.Ask) (bool, error) {
		page, err := c.firstPage(ctx)
		if err != nil {
			return false, fmt.Errorf("list nodes for capacity: %w", err)
		}
		busy := map[string]bool{} // by name: nodes without one are one
		for _, n := range page {
			if Counts(n.State) && !strings.Contains(n.Boot, "virtual-media") {
				busy[n.Name] = true
			}
		}
		return busy[ask.Namespace+"~"+ask.Name] || len(busy) < limit, nil
	}
}
