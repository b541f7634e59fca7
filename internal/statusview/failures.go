package statusview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// failures shows what failures stop now.
func (p *page) failures(s api.Status) {
	open := slices.DeleteFunc(slices.Clone(s.Breakers), func(b api.Breaker) bool { return b.State == "CLOSED" })
	p.fields("breaker", len(open), func(i int) string { return breakerText(open[i]) })
	if h := s.Holds; h != nil && h.Held+h.Failed > 0 {
		p.fieldf("holds", "%s", holdsText(h.Held, h.Failed))
	}
	paused := slices.DeleteFunc(slices.Clone(s.Storm.Pools), func(pool api.PoolFailures) bool { return !pool.Paused })
	p.fields("paused", len(paused), func(i int) string { return poolText(paused[i]) })
}

// breakerText describes a breaker that is not closed: what happens next, and its most frequent cause.
func breakerText(b api.Breaker) string {
	text := b.Scope + " " + b.State + ", " + nextOf(b)
	if len(b.Causes) > 0 {
		text += fmt.Sprintf("; %d x %s", b.Causes[0].Count, b.Causes[0].Text)
	}
	return text
}

// nextOf says what b waits for; "": it is closed.
func nextOf(b api.Breaker) (text string) {
	switch b.State {
	case "OPEN":
		text = "probes in " + api.Seconds(b.TimeToRecovery)
	case "HALF_OPEN":
		text = fmt.Sprintf("%d of %d probes at work", b.Probes, b.ProbeLimit)
	}
	if b.Tripped {
		text += ", by hand"
	}
	return text
}

func holdsText(held, failed int) string {
	return cmp.Or(counted(held, "failed and left alone", failed, "failed and not held"), "no host has failed")
}

func poolText(p api.PoolFailures) string {
	text := fmt.Sprintf("%s: %d of %d failed, %d allowed", cmp.Or(p.Pool, "hosts without a conductor group"), p.Failed, p.Hosts,
		p.Allowed)
	if p.Paused {
		text += ": gets no new hosts"
	}
	return text
}

// Breakers returns b as text.
func Breakers(b api.Breakers) string {
	p := &page{}
	switch {
	case !b.Enabled:
		p.line("there are no breakers: IRONIC_THROTTLE_BREAKER_ENABLED is false")
	case len(b.Breakers) == 0:
		p.line("nothing has happened yet that a breaker could count")
	}
	t := newTable("SCOPE", "STATE", "FAILURES", "NEXT")
	for _, x := range b.Breakers {
		t.row(x.Scope, x.State, fmt.Sprintf("%d of %d", x.RecentFailures, x.FailureThreshold), nextOf(x))
	}
	p.table(t, 0, "")
	for _, x := range b.Breakers {
		p.causes(x)
	}
	return p.String()
}

// causes adds why hosts of a scope failed, after an empty line.
func (p *page) causes(b api.Breaker) {
	if len(b.Causes) > 0 {
		p.line("")
		p.line("causes in " + b.Scope)
	}
	for _, c := range b.Causes {
		p.line(fmt.Sprintf("  %d x %s", c.Count, c.Text))
		if len(c.Hosts) > 0 {
			p.line("      such as " + strings.ReplaceAll(strings.Join(c.Hosts, ", "), "~", "/"))
		}
	}
}

// Holds returns h as text: the failed hosts, each with its cause.
func Holds(h api.Holds) string {
	p := &page{}
	t := newTable("HOST", "KIND", "SINCE", "HELD", "EPISODE", "FAILURES", "CAUSE")
	held := 0
	for _, x := range h.Hosts {
		text := "no"
		switch {
		case x.Held:
			text = "for " + api.Seconds(x.RemainingSeconds)
			held++
		case x.Released:
			text = "released"
		}
		t.row(x.Host(), x.Kind, api.Instant(x.Since), text, x.Episode, fmt.Sprint(x.Failures), strings.Trim(x.State+": "+x.Cause, ": "))
	}
	text := "off"
	if timeout, err := time.ParseDuration(h.Timeout); err == nil && timeout > 0 {
		text = api.Age(timeout) + ", stage " + h.Stage
	}
	p.fieldf("hold-off", "%s", text)
	p.fieldf("holds", "%s", holdsText(held, len(h.Hosts)-held))
	for _, pool := range h.Pools {
		if pool.Failed > 0 {
			p.fieldf("pool", "%s", poolText(pool))
		}
	}
	if h.Unsaved > 0 {
		p.fieldf("warning", "%d changes of holds are not saved yet", h.Unsaved)
	}
	p.table(t, 0, "")
	return p.String()
}

// Release returns what a release did as plain text.
func Release(a api.ReleaseAnswer) string {
	return fields("host", a.Hold.Host(), "released", yesNo(a.Released), "message", a.Message)
}

// BreakerChange returns what a reset or trip did as plain text.
func BreakerChange(a api.BreakerAnswer) string {
	return fields("scope", a.Breaker.Scope, "state", a.Breaker.State, "changed", yesNo(a.Changed), "message", a.Message)
}

func fields(pairs ...string) string {
	p := &page{}
	for ; len(pairs) > 1; pairs = pairs[2:] {
		p.fieldf(pairs[0], "%s", pairs[1])
	}
	return p.String()
}
