package budget

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Pool is how the hosts of a pool stand.
type Pool struct {
	Size  int // those that it has, or is to have
	Ready int // those that are Ready and stay
	Busy  int // those that do not serve, or soon will not
}

// Room is what the budgets of a pool leave.
type Room struct {
	Hosts int // more may be taken out of service; math.MaxInt: nothing bounds it
	Ready int // more of the Ready ones may go without replacement; math.MaxInt: nothing bounds it
	// Why and WhyReady are the budgets that bound Hosts and Ready, such as "10% of 20".
	Why, WhyReady string
	// Never: a budget of this reason is 0 at all times. (Budgets of 0 for all reasons hold everything up, for a while.)
	Never bool
}

// Room is what l leaves for a reason at now: each budget that bounds the reason and is active counts, the smallest most.
// A budget that cannot be read leaves nothing.
func (l List) Room(p Pool, reason api.PlanReason, now time.Time) Room {
	r := Room{Hosts: math.MaxInt, Ready: math.MaxInt}
	for _, b := range l.whole() {
		w, err := b.read()
		switch {
		case err != nil:
			return Room{Why: "that cannot be read"}
		case len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) || !w.active(now):
			continue
		}
		n, why := w.count, b.Nodes+b.MinReady
		if w.percent {
			n = (n*p.Size + 99) / 100
			why += fmt.Sprintf(" of %d", p.Size)
		}
		if w.schedule != nil {
			why += fmt.Sprintf(" in %.120q for %s", b.Schedule, b.Duration)
		}
		if b.MinReady != "" {
			least(&r.Ready, &r.WhyReady, p.Ready-n, why)
			continue
		}
		least(&r.Hosts, &r.Why, max(0, n-p.Busy), why)
		r.Never = r.Never || w.count == 0 && w.schedule == nil && len(b.Reasons) > 0
	}
	if r.Hosts != math.MaxInt && p.Busy > 0 {
		r.Why += fmt.Sprintf(", and %d of its hosts are not Ready, missing, too many, or being disrupted", p.Busy)
	}
	return r
}

// least lowers has to left. Of two budgets that leave the same, one is named whatever their order.
func least(has *int, name *string, left int, why string) {
	if left < *has || left == *has && why < *name {
		*has, *name = left, why
	}
}

// whole is l with what it does not say.
func (l List) whole() List {
	all := slices.Clone(l)
	if !slices.ContainsFunc(l, func(b Budget) bool { return b.Nodes != "" }) {
		all = append(all, Budget{Nodes: "10%"})
	}
	if !slices.ContainsFunc(l, func(b Budget) bool { return b.MinReady != "" && b.Schedule == "" && len(b.Reasons) == 0 }) {
		all = append(all, Budget{MinReady: "1"})
	}
	return all
}

// active from a start until just before start + duration: a start is in (now - duration, now].
func (r reading) active(now time.Time) bool {
	if r.schedule == nil {
		return true
	}
	start := r.schedule.Next(now.UTC().Add(-r.duration))
	return !start.IsZero() && !start.After(now)
}
