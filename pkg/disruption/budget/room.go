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
	Size  int // the hosts that it has or should have
	Ready int // the hosts that are Ready and stay
	Busy  int // the hosts that do not serve, or soon will not
}

// Room is how many more hosts the budgets of a pool let go.
type Room struct {
	Hosts int // how many more may go; math.MaxInt: no budget bounds them
	Ready int // how many more Ready hosts may go without replacement; math.MaxInt: no budget bounds them
	// Why and WhyReady are the budgets that bound Hosts and Ready, such as "10% of 20".
	Why, WhyReady string
	// Never: a budget for this reason, not for all, is 0 at all times.
	Never bool
}

// Room returns how many hosts may go for a reason at now. The smallest active budget for the reason counts. If a budget
// cannot be read, no host may go.
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

// least lowers has to left. Of two budgets that leave the same, the first by name is named, whatever their order.
func least(has *int, name *string, left int, why string) {
	if left < *has || left == *has && why < *name {
		*has, *name = left, why
	}
}

// whole returns l with its default budgets.
func (l List) whole() List {
	all := slices.Clone(l)
	if !slices.ContainsFunc(l, func(b Budget) bool { return b.Nodes != "" }) {
		all = append(all, Budget{Nodes: "10%"})
	}
	always := func(b Budget) bool { return b.Schedule == "" && len(b.Reasons) == 0 }
	if !slices.ContainsFunc(l, func(b Budget) bool { return b.MinReady != "" && always(b) }) {
		all = append(all, Budget{MinReady: "1"})
	}
	return all
}

// active reports whether the budget applies at now: its schedule has a start in (now - duration, now].
func (r reading) active(now time.Time) bool {
	if r.schedule == nil {
		return true
	}
	start := r.schedule.Next(now.UTC().Add(-r.duration))
	return !start.IsZero() && !start.After(now)
}
