package admission

import (
	"fmt"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// linesAgree reports where the queues and the ledger differ on who holds slots: the
// cap on failing hosts and the shares of tenants would go by wrong counts.
func (c *core) linesAgree() error {
	total := 0
	for pool, l := range c.queues.by {
		holding := 0
		for _, t := range l.View(epoch, 0).Tenants {
			holding += t.Holding
		}
		if !pool.VirtualMedia {
			total += holding
		}
		if occupied := c.ledger.Occupancy(epoch).Pools[pool.String()].Occupied; pool != (slots.Pool{}) && holding != occupied {
			return fmt.Errorf("the line of %q counts %d slots, the ledger %d", pool, holding, occupied)
		}
	}
	if occupied := c.ledger.Slots(epoch).Occupied; total != occupied {
		return fmt.Errorf("the lines count %d slots, the ledger %d", total, occupied)
	}
	return nil
}
