// Package statusview turns answers of the throttle's API into plain text for people: status, queue, holds, breakers,
// plans and why.
package statusview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Content is what status shows: a status, and the queue.
type Content struct {
	Status api.Status
	Queue  api.Queue
}

// How much status shows on a terminal; a pipe gets all rows.
const (
	lines       = 24 // of a screen
	workingRows = 8
	nextRows    = 5
	leastRows   = 3 // of a table, even if there are many warnings
	sameLines   = 3 // of one kind, such as open breakers
	tableLines  = 3 // of a table besides its rows: an empty line, the header, and how many rows it leaves out
)

// Text returns c as text: what fits one screen, or all of it.
func Text(c Content, screen bool) string {
	p := &page{screen: screen}
	p.line(c.Status.Headline)
	p.slots(c)
	p.failures(c.Status)
	p.rest(c)
	left := lines - strings.Count(p.String(), "\n") - 2*tableLines
	working := max(leastRows, min(workingRows, left-nextRows))
	next := max(leastRows, min(nextRows, left-working))
	p.working(c, p.most(working))
	for _, q := range c.Queue.Pools {
		if len(q.Hosts) > 0 {
			p.hosts("NEXT", q, min(QueueRows, p.most(next)))
		}
	}
	return p.String()
}

// slots shows the slots, and how the limits follow the boots.
func (p *page) slots(c Content) {
	queues := map[string]api.PoolQueue{}
	for _, q := range c.Queue.Pools {
		queues[q.Pool] = q
	}
	s := c.Status.Slots
	p.fieldf("slots", "%s", slotsText(s.Total, queues[""]))
	pools := slices.DeleteFunc(slices.Sorted(maps.Keys(s.Pools)), func(pool string) bool {
		return s.Pools[pool].Occupied+s.Pools[pool].Waiting+queues[pool].Stopped+queues[pool].Silent == 0
	})
	slices.SortStableFunc(pools, func(a, b string) int { return cmp.Compare(s.Pools[b].Waiting, s.Pools[a].Waiting) })
	p.fields("pool", len(pools), func(i int) string {
		return pools[i] + ": " + slotsText(s.Pools[pools[i]], queues[pools[i]])
	})
	limits := c.Status.Sizing.Lines()
	p.fields("limit", len(limits), func(i int) string { return limits[i] })
}

// Answer returns a as text. effect says what the ask has changed.
func Answer(a api.Answer, effect string) string {
	pairs := []string{"ready:", yesNo(a.Ready), "reason:", string(a.Reason), "message:", a.Message}
	if a.RetryAfterSeconds > 0 {
		pairs = append(pairs, "retry:", "after "+api.Seconds(float64(a.RetryAfterSeconds)))
	}
	if a.Position > 0 {
		pairs = append(pairs, "position:", fmt.Sprint(a.Position))
	}
	return fields(append(pairs, "slots:", slotsText(a.Slots, api.PoolQueue{}), "effect:", effect)...)
}

func slotsText(s api.Slots, q api.PoolQueue) string {
	text := fmt.Sprintf("%d of %d taken", s.Occupied, s.Limit)
	more := counted(s.Leased, "not at work yet", s.Booting, "booting without a slot", s.Waiting, "waiting",
		q.Stopped, "stopped", q.Silent, "silent for too long")
	if more != "" {
		text += ", " + more
	}
	return text
}

// rest shows what else an operator should know.
func (p *page) rest(c Content) {
	s := c.Status
	if s.View.Fresh && s.View.LastError != "" { // else the headline says it
		p.fieldf("ironic", "the last poll failed: %s", s.View.LastError)
	}
	if s.Cluster != nil && s.Cluster.Leader != nil && !s.Cluster.Leader.Leads {
		p.fieldf("standby", "%s leads", cmp.Or(s.Cluster.Leader.Holder, "no replica"))
	}
	if refused := counts(s.Refusals); s.Mode == "observe" && refused != "" {
		p.fieldf("refusals", "enforce would have said %s", refused)
	}
	for _, w := range s.Warnings {
		p.fieldf("warning", "%s", w)
	}
}

func counts(all []api.Count) string {
	var parts []any
	for _, c := range all {
		parts = append(parts, c.Count, c.Reason)
	}
	return counted(parts...)
}

// working adds a table of the hosts that hold a slot or are at work, stuck hosts first.
func (p *page) working(c Content, most int) {
	t := newTable("WORKING", "OP", "STATE", "POOL", "SINCE", "NOTE")
	stuck := func(o api.Occupant) bool { return o.Stuck }
	all := slices.DeleteFunc(slices.Clone(c.Status.Slots.Occupants), func(o api.Occupant) bool { return !o.Stuck })
	all = append(all, slices.DeleteFunc(slices.Clone(c.Status.Slots.Occupants), stuck)...)
	shown := all[:min(len(all), most)]
	for _, o := range shown {
		t.row(cmp.Or(hostName(o.Name), o.NodeUUID), string(o.Op), o.State, o.Pool, api.Seconds(o.SinceSeconds), note(o))
	}
	p.table(t, len(all)-len(shown), "hosts")
}

// note says what is unusual about o.
func note(o api.Occupant) string {
	var notes []string
	if o.Stuck {
		notes = append(notes, "stuck")
	}
	if o.Kind != "granted" {
		notes = append(notes, o.Kind)
	}
	if !o.Counted {
		notes = append(notes, "takes no slot")
	}
	return strings.Join(notes, ", ")
}
