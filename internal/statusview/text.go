// Package statusview shows a status of the throttle to people: as plain text,
// and as a live view on a terminal.
package statusview

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Content is what is shown: a status, and the queue as far as it is wanted.
type Content struct {
	Server string // the address that answered; "" is not shown
	Status api.Status
	Queue  api.Queue
}

// Text returns c as plain text that ends with a newline, for a terminal of that many
// columns; 0: nothing is cut or broken. Whatever came from Ironic or an asker is made
// harmless for a terminal. All texts of this package are made so.
func Text(c Content, width int) string {
	return joined(lines(c, space{width: width}))
}

// weight is how much a line wants to be seen.
type weight int

const (
	minor weight = iota // goes first where there is no room
	usual
	heading
	alarming
)

// line is one line without its end.
type line struct {
	text   string
	weight weight
}

// lines is what both views show.
func lines(c Content, s space) []line {
	out := append(fieldLines(c, s), occupantLines(c.Status.Slots.Occupants, s)...)
	return append(out, queueTables(c.Queue, s)...)
}

// headline is empty where the throttle is older than this command.
func headline(c Content, s space) []line {
	if c.Status.Headline == "" {
		return nil
	}
	return fold(line{printable(c.Status.Headline), heading}, s, 0)
}

// fieldLines are what stands before the tables.
func fieldLines(c Content, s space) []line {
	out := fields(c)
	if s.brief {
		out = slices.DeleteFunc(out, func(l line) bool { return l.weight == minor })
	}
	return append(headline(c, s), foldAll(out, s, fieldIndent)...)
}

// fields are what is no table.
func fields(c Content) []line {
	s := c.Status
	view, bad := viewText(s.View)
	mode := usual
	if s.Mode == "enforce" {
		mode = minor
	}
	out := []line{{field("throttle", printable(s.Version)+", mode "+printable(s.Mode)), mode}}
	if c.Server != "" {
		out = append(out, line{field("server", printable(c.Server)), usual})
	}
	out = append(out, line{field("view", view), bad}, line{field("slots", slotsText(s.Slots.Total)), usual})
	for _, pool := range slices.Sorted(maps.Keys(s.Slots.Pools)) {
		out = append(out, line{field("pool", printable(pool)+": "+slotsText(s.Slots.Pools[pool])), usual})
	}
	out = append(out, sizingFields(s.Sizing)...)
	out = append(out, clusterFields(s)...)
	out = append(out, queueFields(c.Queue)...)
	out = append(out, failureFields(s)...)
	out = append(out, line{field("answers", countsText(s.Asks)), minor})
	if s.Mode == "observe" {
		out = append(out, line{field("refusals", "enforce would have said: "+countsText(s.Refusals)), minor})
	}
	t := s.Totals
	out = append(out, line{field("totals", fmt.Sprintf(
		"%d granted, %d finished, %d expired, %d refused, %d vanished, %d adopted, %d foreign, %d written off",
		t.Granted, t.Finished, t.Expired, t.Refused, t.Vanished, t.Adopted, t.Foreign, t.WrittenOff)), minor})
	for _, w := range s.Warnings {
		out = append(out, line{field("warning", printable(w)), alarming})
	}
	return out
}

func field(name, text string) string { return fmt.Sprintf("%-9s %s", name, text) }

func viewText(v api.View) (string, weight) {
	var text string
	bad := alarming
	switch {
	case v.AgeSeconds < 0:
		text = "starting: no complete poll of Ironic yet"
	case !v.Fresh:
		text = "stale: last complete poll " + age(v.AgeSeconds) + " ago"
	case !v.Settled:
		text, bad = "starting: finding out who is busy, "+age(v.AgeSeconds)+" old", heading
	default:
		text, bad = "fresh, "+age(v.AgeSeconds)+" old", usual
	}
	text += fmt.Sprintf(", %d busy nodes, %d polls", v.BusyNodes, v.Polls)
	if v.LastError != "" {
		text, bad = text+"; "+printable(v.LastError), alarming
	}
	return text, bad
}

func slotsText(s api.Slots) string {
	return fmt.Sprintf("%d of %d occupied, %d free, %d leased, %d booting, %d waiting",
		s.Occupied, s.Limit, s.Free, s.Leased, s.Booting, s.Waiting)
}

// countsText leaves out what never happened.
func countsText(counts []api.Count) string {
	var parts []string
	for _, c := range counts {
		if c.Count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.Count, printable(string(c.Reason))))
		}
	}
	if len(parts) == 0 {
		return "none yet"
	}
	return strings.Join(parts, ", ")
}

// occupantLines is the table of who holds a slot or is at work.
func occupantLines(occupants []api.Occupant, s space) []line {
	t := newTable("HOST", "KIND", "OP", "STATE", "POOL", "SINCE", "NODE", "NOTE")
	t.spare = []string{"KIND", "POOL"}
	if !slices.ContainsFunc(occupants, func(o api.Occupant) bool { return o.Name == "" }) {
		t.spare = []string{"NODE", "KIND", "POOL"}
	}
	for _, o := range occupants {
		w := usual
		if o.Stuck || o.Abandoned {
			w = alarming
		}
		t.row(w, cell(hostName(o.Name)), cell(o.Kind), cell(string(o.Op)), cell(o.State), cell(o.Pool),
			age(o.SinceSeconds), cell(o.NodeUUID), note(o))
	}
	return t.lines(s, 0, "hosts")
}

func note(o api.Occupant) string {
	var notes []string
	if o.Abandoned {
		notes = append(notes, "no conductor works on it")
	}
	if o.Stuck {
		notes = append(notes, "stuck")
	}
	if !o.Counted {
		notes = append(notes, "takes no slot")
	}
	return strings.Join(notes, ", ")
}

// hostName turns BMO's node name namespace~name into what check takes.
func hostName(name string) string { return strings.Replace(name, "~", "/", 1) }

func cell(text string) string {
	if text == "" {
		return "-"
	}
	return printable(text)
}

// age is a number of seconds, to the second.
func age(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// printable keeps foreign text from breaking a line or steering a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}
