package admission

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Sizing is what Status shows of the limits, for whoever looks after each poll.
func (c *Controller) Sizing(now time.Time) api.Sizing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sizing(now)
}
