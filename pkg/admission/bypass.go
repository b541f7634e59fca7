package admission

import (
	"fmt"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// bypassed is how many hosts must begin to work past a gateway that nobody uses until it is
// said: one or two may be somebody's own doing.
const bypassed = 3

// quiet is how long the gateway must be unused until that is said.
const quiet = 5 * time.Minute

// bypass notices that nobody uses the gateway, or asks, although hosts of the operator begin to
// work: the operator goes round it (GW-20). The zero value begins with its first step.
type bypass struct {
	requests uint64          // through the gateway, at the last step
	asked    time.Time       // the last ask, likewise
	used     time.Time       // when it was seen to be used, or the first step
	begun    map[string]bool // hosts since then that nobody let through, by UUID; nil: none
	on       bool            // the operator goes round the gateway
}

// step takes what is so at a poll: the requests that have come through the gateway, the last
// ask, and the hosts that this poll shows at work and nobody let through. It reports whether
// on has changed.
func (b *bypass) step(now time.Time, requests uint64, asked time.Time, begun []string) (changed bool) {
	was := b.on
	if b.used.IsZero() || requests != b.requests || !asked.Equal(b.asked) {
		*b = bypass{requests: requests, asked: asked, used: now}
		return was
	}
	for _, uuid := range begun {
		if b.begun == nil {
			b.begun = map[string]bool{}
		}
		b.begun[uuid] = true
	}
	b.on = b.on || len(b.begun) >= bypassed && now.Sub(b.used) >= quiet
	return b.on != was
}

func (b *bypass) show() *api.Bypass {
	if !b.on {
		return nil
	}
	return &api.Bypass{Hosts: len(b.begun), Since: b.used}
}

func (b *bypass) headline(now time.Time) string {
	return fmt.Sprintf("BMO goes round the gateway: nobody has used it for %s, and %s since.",
		about(now.Sub(b.used)), number(len(b.begun), "host has begun to work", "hosts have begun to work"))
}

// watchGateway goes by the slots that a poll has opened, and the requests until then.
func (c *core) watchGateway(now time.Time, requests uint64, notices []slots.Notice) {
	var begun []string
	for _, n := range notices {
		if n.Kind == slots.NoticeForeign && c.ofOperator(n.ID) {
			begun = append(begun, n.ID.UUID)
		}
	}
	changed := c.bypass.step(now, requests, c.lastAsk, begun)
	if changed {
		c.policy.notices = append(c.policy.notices, FailureNotice{Kind: BypassChanged, Bypass: c.bypass.show()})
	}
	if changed || c.bypass.on || len(begun) > 0 {
		c.revision.Add(1)
	}
}

// ofOperator reports whether a node is named as BMO names its nodes, or is that of a
// BareMetalHost.
func (c *core) ofOperator(id slots.ID) bool {
	namespace, name, ok := strings.Cut(id.Name, "~")
	if !ok && c.hosts != nil {
		_, ok = c.hosts.Host(namespace, name, id.UUID)
	}
	return ok
}
