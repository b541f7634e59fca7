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
type Capacity interface {
	HasCapacity(ctx context.Context, ask api.Ask) (bool, error)
}

// Asker is the part of api.Client that Throttle needs.
type Asker interface {
	IsReady(ctx context.Context, ask api.Ask) (api.Answer, error)
}

// Throttle asks ironic-throttle. Without an answer it is a no: the limit holds
// (LH-29).
func Throttle(a Asker) Capacity { return throttle{a} }

type throttle struct{ Asker }

func (t throttle) HasCapacity(ctx context.Context, ask api.Ask) (bool, error) {
	answer, err := t.IsReady(ctx, ask)
	return err == nil && answer.Ready, nil
}

// BuiltIn is the rule of the present BMO: it lists nodes, counts the busy ones
// by name, and lets a host pass while they are fewer than limit or when it is
// one of them. It decides and then acts, so its workers overtake each other, and
// it sees one page only.
func BuiltIn(c *Client, limit int) Capacity { return builtIn{c, limit} }

type builtIn struct {
	ironic *Client
	limit  int
}

func (b builtIn) HasCapacity(ctx context.Context, ask api.Ask) (bool, error) {
	page, err := b.ironic.firstPage(ctx, "uuid,name,provision_state,boot_interface")
	if err != nil {
		return false, fmt.Errorf("list nodes for capacity: %w", err)
	}
	busy := map[string]bool{} // by name: nodes without one are one
	for _, n := range page {
		if Counts(n.State) && !strings.Contains(n.Boot, "virtual-media") {
			busy[n.Name] = true
		}
	}
	return busy[ask.Namespace+"~"+ask.Name] || len(busy) < b.limit, nil
}
