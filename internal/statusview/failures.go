package statusview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// causeRows is how many causes of a breaker are shown.
const causeRows = 5

// The states of a breaker that are shown in another way than others.
const (
	closed   = "CLOSED"
	open     = "OPEN"
	halfOpen = "HALF_OPEN"
)

// failures says what failures stop now.
func (p *page) failures(s api.Status) {
	for _, b := range s.Breakers {
		if b.State != closed {
			p.fieldf("breaker", "%s", breakerText(b))
		}
	}
	if h := s.Holds; h != nil && h.Held+h.Failed > 0 {
		p.fieldf("holds", "%s", holdsText(h.Held, h.Failed))
	}
	for _, of := range s.Storm.Pools {
		if of.Paused {
			p.fieldf("paused", "%s", poolText(of))
		}
	}
}

// breakerText is one that is not closed, with what happens next and its first cause.
func breakerText(b api.Breaker) string {
	text := b.Scope + " " + b.State
	switch b.State {
	case open:
		text += ", probes in " + age(b.TimeToRecovery)
	case halfOpen:
		text += fmt.Sprintf(", %d of %d probes at work", b.Probes, b.ProbeLimit)
	}
	if b.Tripped {
		text += ", by hand"
	}
	if len(b.Causes) > 0 {
		text += fmt.Sprintf("; %d x %s", b.Causes[0].Count, b.Causes[0].Text)
	}
	return text
}

func holdsText(held, failed int) string {
	return cmp.Or(counted(held, "failed and left alone", failed, "failed and not held"), "no host has failed")
}

func poolText(p api.PoolFailures) string {
	text := fmt.Sprintf("%s: %d of %d failed, %d allowed", cmp.Or(p.Pool, "hosts without a conductor group"), p.Failed, p.Hosts, p.Allowed)
	if p.Paused {
		text += ": gets no new hosts"
	}
	return text
}

// Breakers returns b as text.
func Breakers(b api.Breakers, width int) string {
	switch {
	case !b.Enabled:
		return "there are no breakers: IRONIC_THROTTLE_BREAKER_ENABLED is false\n"
	case len(b.Breakers) == 0:
		return "nothing has happened yet that a breaker could count\n"
	}
	t := newTable("SCOPE", "STATE", "FAILURES", "PROBES", "RECOVERY")
	for _, x := range b.Breakers {
		state, probes, recovery := x.State, "", ""
		if x.Tripped {
			state += " by hand"
		}
		if x.State == halfOpen {
			probes = fmt.Sprintf("%d of %d", x.Probes, x.ProbeLimit)
		}
		if x.State == open {
			recovery = "in " + age(x.TimeToRecovery)
		}
		t.row(x.Scope, state, fmt.Sprintf("%d of %d", x.RecentFailures, x.FailureThreshold), probes, recovery)
	}
	p := &page{width: width}
	p.rows(t, nil)
	for _, x := range b.Breakers {
		p.causes(x)
	}
	return p.String()
}

const causeIndent = 6

// causes are why hosts of a scope failed, after an empty line.
func (p *page) causes(b api.Breaker) {
	if len(b.Causes) == 0 {
		return
	}
	p.cut("")
	p.cut("causes in " + b.Scope)
	for _, c := range b.Causes[:min(len(b.Causes), causeRows)] {
		p.say(causeIndent, fmt.Sprintf("  %d x %s", c.Count, c.Text))
		var hosts []string
		for _, h := range c.Hosts {
			hosts = append(hosts, hostName(h))
		}
		if len(hosts) > 0 {
			p.cut(strings.Repeat(" ", causeIndent) + "such as " + strings.Join(hosts, ", "))
		}
	}
	if more := len(b.Causes) - causeRows; more > 0 {
		p.cut(fmt.Sprintf("  ... and %d causes more", more))
	}
}

const reasonIndent = 4

// Holds returns h as text: the failed hosts, each with its cause below it.
func Holds(h api.Holds, width int) string {
	p := &page{width: width}
	held := 0
	for _, x := range h.Hosts {
		if x.Held {
			held++
		}
	}
	if h.Timeout == "0s" {
		p.fieldf("hold-off", "off")
	} else {
		p.fieldf("hold-off", "%s, stage %s", h.Timeout, h.Stage)
	}
	p.fieldf("holds", "%s", holdsText(held, len(h.Hosts)-held))
	for _, of := range h.Pools {
		if of.Failed > 0 {
			p.fieldf("pool", "%s", poolText(of))
		}
	}
	if h.Unsaved > 0 {
		p.fieldf("warning", "%d changes of holds are not saved yet", h.Unsaved)
	}
	t := newTable("HOST", "KIND", "FAILURES", "SINCE (UTC)", "HELD", "EPISODE")
	t.spare = []string{"EPISODE", "FAILURES"}
	for _, x := range h.Hosts {
		t.row(holdName(x), x.Kind, fmt.Sprint(x.Failures), x.Since.UTC().Format("Jan _2 15:04"), heldText(x), x.Episode)
	}
	p.table(t, 0, "", func(i int) {
		x := h.Hosts[i]
		if why := slices.DeleteFunc([]string{x.State, x.Cause}, func(s string) bool { return s == "" }); len(why) > 0 {
			p.say(reasonIndent, "  "+strings.Join(why, ": "))
		}
	})
	return p.String()
}

// holdName is what the command takes to release x.
func holdName(x api.Hold) string {
	switch {
	case x.Name == "":
		return x.NodeUUID
	case x.Namespace == "":
		return x.Name
	}
	return x.Namespace + "/" + x.Name
}

func heldText(x api.Hold) string {
	switch {
	case x.Held:
		return "for " + age(x.RemainingSeconds)
	case x.Released:
		return "released"
	}
	return "no"
}

// Release returns what a release did as plain text.
func Release(a api.ReleaseAnswer) string {
	p := &page{}
	p.fieldf("host", "%s", holdName(a.Hold))
	p.fieldf("released", "%s", yesNo(a.Released))
	p.fieldf("message", "%s", a.Message)
	return p.String()
}

// BreakerChange returns what a reset or trip did as plain text.
func BreakerChange(a api.BreakerAnswer) string {
	p := &page{}
	p.fieldf("scope", "%s", a.Breaker.Scope)
	p.fieldf("state", "%s", a.Breaker.State)
	p.fieldf("changed", "%s", yesNo(a.Changed))
	p.fieldf("message", "%s", a.Message)
	return p.String()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
