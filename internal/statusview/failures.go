package statusview

import (
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

// failureFields says what failures stop now.
func failureFields(s api.Status) []line {
	var out []line
	for _, b := range s.Breakers {
		if b.State == closed {
			continue
		}
		w := alarming
		if b.State == halfOpen {
			w = heading
		}
		out = append(out, line{field("breaker", breakerText(b)), w})
	}
	if h := s.Holds; h != nil && h.Held+h.Failed > 0 {
		out = append(out, line{field("holds", holdsText(h.Held, h.Failed)), usual})
	}
	for _, p := range s.Storm.Pools {
		if p.Paused {
			out = append(out, line{field("paused", poolText(p)), alarming})
		}
	}
	return out
}

// breakerText is one that is not closed, with what happens next and its first cause.
func breakerText(b api.Breaker) string {
	text := printable(b.Scope) + " " + printable(b.State)
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
		text += fmt.Sprintf("; %d x %s", b.Causes[0].Count, printable(b.Causes[0].Text))
	}
	return text
}

func holdsText(held, failed int) string {
	return fmt.Sprintf("%d failed hosts left alone, %d more failed and not held", held, failed)
}

func poolText(p api.PoolFailures) string {
	name := "hosts without a conductor group"
	if p.Pool != "" {
		name = printable(p.Pool)
	}
	text := fmt.Sprintf("%s: %d of %d failed, %d allowed", name, p.Failed, p.Hosts, p.Allowed)
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
		state, probes, recovery := x.State, "-", "-"
		if x.Tripped {
			state += " by hand"
		}
		if x.State == halfOpen {
			probes = fmt.Sprintf("%d of %d", x.Probes, x.ProbeLimit)
		}
		if x.State == open {
			recovery = "in " + age(x.TimeToRecovery)
		}
		t.row(usual, cell(x.Scope), cell(state), fmt.Sprintf("%d of %d", x.RecentFailures, x.FailureThreshold), probes, recovery)
	}
	s := space{width: width}
	out := t.lines(s, 0, "")[1:]
	for _, x := range b.Breakers {
		out = append(out, causeLines(x, s)...)
	}
	return joined(out)
}

const causeIndent = 6

// causeLines are why hosts of a scope failed, after an empty line.
func causeLines(b api.Breaker, s space) []line {
	if len(b.Causes) == 0 {
		return nil
	}
	out := []line{{}, {clip("causes in "+printable(b.Scope), s.width), heading}}
	for _, c := range b.Causes[:min(len(b.Causes), causeRows)] {
		out = append(out, fold(line{fmt.Sprintf("  %d x %s", c.Count, printable(c.Text)), usual}, s, causeIndent)...)
		var hosts []string
		for _, h := range c.Hosts {
			hosts = append(hosts, printable(hostName(h)))
		}
		if len(hosts) > 0 {
			out = append(out, line{clip(strings.Repeat(" ", causeIndent)+"such as "+strings.Join(hosts, ", "), s.width), usual})
		}
	}
	if more := len(b.Causes) - causeRows; more > 0 {
		out = append(out, line{fmt.Sprintf("  ... and %d causes more", more), usual})
	}
	return out
}

// Holds returns h as text.
func Holds(h api.Holds, width int) string {
	held := 0
	for _, x := range h.Hosts {
		if x.Held {
			held++
		}
	}
	out := []line{
		{field("hold-off", printable(h.Timeout)+", stage "+printable(h.Stage)), usual},
		{field("holds", holdsText(held, len(h.Hosts)-held)), usual},
	}
	for _, p := range h.Pools {
		out = append(out, line{field("pool", poolText(p)), usual})
	}
	if h.Unsaved > 0 {
		out = append(out, line{field("warning", fmt.Sprintf("%d changes of holds are not saved yet", h.Unsaved)), alarming})
	}
	s := space{width: width}
	return joined(append(foldAll(out, s, fieldIndent), holdLines(h.Hosts, s)...))
}

const reasonIndent = 4

// holdLines are the failed hosts, each with its cause below it.
func holdLines(hosts []api.Hold, s space) []line {
	t := newTable("HOST", "KIND", "FAILURES", "SINCE (UTC)", "HELD", "EPISODE")
	t.spare = []string{"EPISODE", "FAILURES"}
	for _, x := range hosts {
		t.row(usual, cell(holdName(x)), cell(x.Kind), fmt.Sprint(x.Failures), x.Since.UTC().Format("Jan _2 15:04"), heldText(x), cell(x.Episode))
	}
	rows := t.lines(s, 0, "")
	if len(rows) == 0 {
		return nil
	}
	out := rows[:2:2]
	for i, x := range hosts {
		out = append(out, rows[i+2])
		if why := slices.DeleteFunc([]string{printable(x.State), printable(x.Cause)}, func(s string) bool { return s == "" }); len(why) > 0 {
			out = append(out, fold(line{"  " + strings.Join(why, ": "), usual}, s, reasonIndent)...)
		}
	}
	return out
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

func joined(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}

// Release returns what a release did as plain text.
func Release(a api.ReleaseAnswer) string {
	return joined([]line{
		{field("host", cell(holdName(a.Hold))), usual},
		{field("released", yesNo(a.Released)), usual},
		{field("message", printable(a.Message)), usual},
	})
}

// BreakerChange returns what a reset or trip did as plain text.
func BreakerChange(a api.BreakerAnswer) string {
	return joined([]line{
		{field("scope", cell(a.Breaker.Scope)), usual},
		{field("state", cell(a.Breaker.State)), usual},
		{field("changed", yesNo(a.Changed)), usual},
		{field("message", printable(a.Message)), usual},
	})
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
