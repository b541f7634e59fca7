package admission

import (
	"fmt"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// headline returns what matters now: what stops all hosts, else what stops some and how many slots are taken.
func (c *Controller) headline(now time.Time, s *api.Status) string {
	if !c.cfg.Leading() {
		return "This replica stands by: another one decides."
	}
	waiting, stopped := 0, c.order.Stopped()
	for _, p := range c.ledger.Pools() {
		waiting += c.order.Queued(p)
	}
	who := crowd(waiting, stopped)
	switch {
	case c.cfg.Mode == Observe && !s.View.Fresh:
		return "Mode observe: nothing is refused. Ironic cannot be read" + because(s.View.LastError) + "."
	case c.cfg.Mode == Observe && s.Slots.Total.Occupied <= s.Slots.Total.Limit:
		return "Mode observe: nothing is refused. " + taken(s.Slots.Total) + "."
	case c.cfg.Mode == Observe:
		return fmt.Sprintf("Mode observe: nothing is refused. %s: enforce would let %s wait.", taken(s.Slots.Total),
			number(s.Slots.Total.Occupied-s.Slots.Total.Limit, "host", "hosts"))
	case s.View.AgeSeconds < 0:
		return "Nothing new starts: no poll of Ironic has succeeded yet" + because(s.View.LastError) + "."
	case !s.View.Fresh:
		return fmt.Sprintf("Nothing new starts: the last good poll of Ironic was %s%s; %s.",
			ago(seconds(s.View.AgeSeconds)), because(s.View.LastError), who)
	case !s.View.Settled:
		return "Nothing new starts yet: the throttle has just started and is finding out who is at work."
	}
	var parts []string // what stops some
	for _, b := range s.Breakers {
		switch {
		case b.State == string(breaker.Closed):
		case b.Scope == wholeIronic.String():
			return "Nothing starts: " + breakerHeadline(b) + "; " + who + "."
		default:
			parts = append(parts, breakerHeadline(b))
		}
	}
	if silence := now.Sub(c.lastAsk); waiting+stopped > 0 && silence >= comesBack+time.Minute {
		return fmt.Sprintf("No ask has come for %s, and %s: is BMO running?", api.Age(silence), who)
	}
	for _, p := range s.Storm.Pools {
		if p.Paused {
			parts = append(parts, poolWord(p.Pool)+" is paused")
		}
	}
	if s.Holds != nil && s.Holds.Held > 0 {
		parts = append(parts, number(s.Holds.Held, "failed host is held", "failed hosts are held"))
	}
	text := strings.Join(append(parts, c.slotsHeadline(now, s.Slots.Total, who)), "; ")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func taken(s api.Slots) string { return fmt.Sprintf("%d of %d slots are taken", s.Occupied, s.Limit) }

// crowd says how many hosts wait, and how many something else than slots and turns stops.
func crowd(waiting, stopped int) string {
	switch {
	case waiting+stopped == 0:
		return "no host waits"
	case waiting == 0:
		return number(stopped, "host is stopped", "hosts are stopped")
	case stopped > 0:
		return fmt.Sprintf("%d wait, %d stopped", waiting, stopped)
	}
	return number(waiting, "host waits", "hosts wait")
}

// slotsHeadline says how many slots are taken and when the last waiting host starts, or why free slots stay free.
func (c *Controller) slotsHeadline(now time.Time, s api.Slots, who string) string {
	if s.Free > 0 {
		for first := range c.order.Hosts(slots.Pool{}) {
			if silence := now.Sub(first.AskedAt); silence >= comesBack/4 {
				return fmt.Sprintf("%s; %s: the first in line, %s, has not asked again for %s",
					number(s.Free, "slot is free", "slots are free"), who, first.Shown(), api.Age(silence))
			}
			break
		}
	}
	text := taken(s) + ", " + who
	if half, _ := c.order.Last(); half > 0 {
		text += "; the last one starts in about " + api.Age(half)
	}
	return text
}

func breakerHeadline(b api.Breaker) string {
	if b.State == string(breaker.Open) {
		return fmt.Sprintf("breaker %s is OPEN, probes in %s", b.Scope, api.Seconds(b.TimeToRecovery))
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
