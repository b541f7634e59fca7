package admission

import (
	"fmt"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
)

// headline is the one thing that matters now: what stops everybody, then what stops some, then how
// the slots stand.
func (c *core) headline(now time.Time, s *api.Status) string {
	if !c.leading() {
		return "This replica stands by: another one decides."
	}
	waiting, stopped := c.crowd()
	who := crowdText(waiting, stopped)
	switch {
	case s.View.AgeSeconds < 0:
		return "Nothing new starts: no poll of Ironic has succeeded yet" + because(s.View.LastError) + "."
	case !s.View.Fresh && c.mode == Enforce:
		return fmt.Sprintf("Nothing new starts: the last good poll of Ironic was %s%s; %s.", ago(seconds(s.View.AgeSeconds)), because(s.View.LastError), who)
	case !s.View.Settled:
		return "Nothing new starts yet: the throttle has just started and is finding out who is at work."
	}
	if c.bypass.on {
		return c.bypass.headline(now)
	}
	if b, found := stopping(s.Breakers, wholeIronic.String()); found {
		return "Nothing starts: " + breakerHeadline(b) + "; " + who + "."
	}
	if silence := now.Sub(c.lastAsk); waiting+stopped > 0 && silence >= comesBack+time.Minute {
		return fmt.Sprintf("Nobody has asked for %s, and %s: is BMO running?", about(silence), who)
	}
	var parts []string
	for _, b := range s.Breakers {
		if b.Scope != wholeIronic.String() && b.State != string(breaker.Closed) {
			parts = append(parts, breakerHeadline(b))
		}
	}
	for _, p := range s.Storm.Pools {
		if p.Paused {
			parts = append(parts, poolWord(p.Pool)+" is paused")
		}
	}
	if s.Holds != nil && s.Holds.Held > 0 {
		parts = append(parts, number(s.Holds.Held, "failed host is held", "failed hosts are held"))
	}
	parts = append(parts, c.slotsHeadline(s, who))
	text := strings.Join(parts, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// crowd counts the hosts that wait, and those that something else than slots and turns stops.
func (c *core) crowd() (waiting, stopped int) {
	for _, q := range c.queues.by {
		waiting += q.Queued()
		stopped += q.Stopped()
	}
	return waiting, stopped
}

func crowdText(waiting, stopped int) string {
	switch {
	case waiting+stopped == 0:
		return "nobody waits"
	case stopped == 0:
		return number(waiting, "host waits", "hosts wait")
	case waiting == 0:
		return number(stopped, "host is stopped", "hosts are stopped")
	}
	return number(waiting, "host waits", "hosts wait") + ", " + number(stopped, "is stopped", "are stopped")
}

// number is n with what it counts.
func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// slotsHeadline says how full the slots are, and how long it takes until all who wait have had one.
func (c *core) slotsHeadline(s *api.Status, who string) string {
	t := s.Slots.Total
	text := fmt.Sprintf("%d of %d slots are taken, %s", t.Occupied, t.Limit, who)
	if half, most := c.queues.last(); half > 0 {
		text += fmt.Sprintf(", the last of them for about %s, at most %s for nine of ten", about(half), about(most))
	}
	return text
}

// stopping returns the breaker of a scope, if it lets nobody or only probes start.
func stopping(all []api.Breaker, scope string) (api.Breaker, bool) {
	for _, b := range all {
		if b.Scope == scope && b.State != string(breaker.Closed) {
			return b, true
		}
	}
	return api.Breaker{}, false
}

func breakerHeadline(b api.Breaker) string {
	if b.State == string(breaker.Open) {
		return fmt.Sprintf("breaker %s is OPEN, probes in %s", b.Scope, about(seconds(b.TimeToRecovery)))
	}
	return fmt.Sprintf("breaker %s is HALF_OPEN, %d of %d probes run", b.Scope, b.Probes, b.ProbeLimit)
}

// because adds a cause, if there is one.
func because(cause string) string {
	if cause == "" {
		return ""
	}
	return " (" + cause + ")"
}
