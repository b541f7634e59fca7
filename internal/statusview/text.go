// Package statusview shows what the throttle answers to people, as plain text: its status, queue, holds, breakers and
// plans.
package statusview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Content is what status shows: a status, and the queue.
type Content struct {
	Server string // the address that answered; "" is not shown
	Status api.Status
	Queue  api.Queue
}

// How many rows of a table status shows on a terminal; a pipe gets all.
const (
	holderRows = 8
	tenantRows = 5
	nextRows   = 5
)

// Text returns c for a terminal of that many columns, so that it fits one screen; 0: nothing is cut, broken or left out.
func Text(c Content, width int) string {
	p := &page{width: width}
	if c.Status.Headline != "" { // else the throttle is older than this command
		p.say(0, c.Status.Headline)
	}
	p.state(c)
	p.holders(c.Status.Slots.Occupants)
	for _, q := range c.Queue.Pools {
		p.tenants(q)
		p.hosts(q, p.most(nextRows))
	}
	return p.String()
}

// most is how many rows of a table are shown where it is one of several: n on a terminal.
func (p *page) most(n int) int {
	if p.width == 0 {
		return QueueRows
	}
	return n
}

// state is what stands before the tables.
func (p *page) state(c Content) {
	s := c.Status
	mode := s.Mode
	if mode == "observe" {
		mode += ": nothing is refused"
	}
	p.fieldf("throttle", "%s, mode %s", s.Version, mode)
	if c.Server != "" {
		p.fieldf("server", "%s", c.Server)
	}
	p.fieldf("view", "%s", viewText(s.View))
	p.fieldf("slots", "%s", Slots(s.Slots.Total))
	for _, pool := range slices.Sorted(maps.Keys(s.Slots.Pools)) {
		if of := s.Slots.Pools[pool]; of.Occupied+of.Waiting > 0 {
			p.fieldf("pool", "%s: %s", pool, Slots(of))
		}
	}
	for _, of := range s.Sizing.Pools {
		if of.Verdict == api.SizingUnknown && of.Limit == of.Ceiling {
			continue // nothing is known yet, and the slots say the limit
		}
		for _, text := range (api.Sizing{Mode: s.Sizing.Mode, Pools: []api.PoolSizing{of}}).Lines() {
			p.fieldf("limit", "%s", text)
		}
	}
	p.cluster(s.Cluster)
	for _, q := range c.Queue.Pools {
		if q.Silent+q.Stopped > 0 { // else the slots say it
			p.queue(q)
		}
	}
	p.failures(s)
	if text := refusals(s.Refusals); s.Mode == "observe" && text != "" {
		p.fieldf("refusals", "enforce would have said: %s", text)
	}
	if text := totals(s.Totals); text != "" {
		p.fieldf("totals", "%s", text)
	}
	for _, w := range s.Warnings {
		p.fieldf("warning", "%s", w)
	}
}

func viewText(v api.View) string {
	var text string
	switch {
	case v.AgeSeconds < 0:
		text = "starting: no complete poll of Ironic yet"
	case !v.Fresh:
		text = "stale: last complete poll " + age(v.AgeSeconds) + " ago"
	case !v.Settled:
		text = "starting: finding out who is busy, " + age(v.AgeSeconds) + " old"
	default:
		text = "fresh, " + age(v.AgeSeconds) + " old"
	}
	if v.LastError != "" {
		text += "; " + v.LastError
	}
	return text
}

// Slots says how the slots of a limit stand.
func Slots(s api.Slots) string {
	text := fmt.Sprintf("%d of %d occupied, %d free", s.Occupied, s.Limit, s.Free)
	if more := counted(s.Leased, "not at work yet", s.Booting, "booting without a slot", s.Waiting, "waiting"); more != "" {
		text += ", " + more
	}
	return text
}

func refusals(counts []api.Count) string {
	var parts []any
	for _, c := range counts {
		parts = append(parts, c.Count, c.Reason)
	}
	return counted(parts...)
}

func totals(t api.Totals) string {
	return counted(t.Granted, "granted", t.Adopted, "adopted", t.Foreign, "foreign", t.Finished, "finished", t.Expired, "not used in time",
		t.Refused, "refused by Ironic", t.Vanished, "gone from Ironic", t.WrittenOff, "written off as stuck")
}

// holders is the table of who holds a slot or is at work: who is stuck first.
func (p *page) holders(occupants []api.Occupant) {
	t := newTable("HOST", "KIND", "OP", "STATE", "POOL", "SINCE", "NODE", "NOTE")
	t.spare = []string{"KIND", "POOL"}
	if !slices.ContainsFunc(occupants, func(o api.Occupant) bool { return o.Name == "" }) {
		t.spare = []string{"NODE", "KIND", "POOL"}
	}
	shown := slices.Clone(occupants)
	slices.SortStableFunc(shown, func(a, b api.Occupant) int { return strings.Compare(note(b), note(a)) })
	if p.width > 0 {
		shown = shown[:min(len(shown), holderRows)]
	}
	for _, o := range shown {
		t.row(hostName(o.Name), o.Kind, string(o.Op), o.State, o.Pool, age(o.SinceSeconds), o.NodeUUID, note(o))
	}
	p.table(t, len(occupants)-len(shown), "hosts", nil)
}

func note(o api.Occupant) string {
	switch {
	case o.Stuck && o.Counted:
		return "stuck"
	case o.Stuck:
		return "stuck, takes no slot"
	case !o.Counted:
		return "takes no slot"
	}
	return ""
}
