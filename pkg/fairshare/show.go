package fairshare

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// View is the order of one pool, for people.
type View struct {
	Waiting, Silent, Stopped, Due int           // hosts; Waiting: in line
	MeanSlot                      time.Duration // how long a slot is held; Unmeasured while too few have ended
	FailingHeld, FailingMost      int           // slots that failing hosts hold, and may hold now
	Tenants                       []Tenant      // by name
}

// Tenant is a tenant with slots of a pool, or hosts in line for one.
type Tenant struct {
	Name                      string
	Weight                    float64
	Holding, Waiting, Failing int              // hosts; Failing: those of Waiting that are failing
	Waited                    [2]time.Duration // how long the first healthy and the first failing host have waited
}

// View returns the order of the hosts of p.
func (o *Order) View(now time.Time, p slots.Pool) View {
	l := o.limit(p)
	v := View{
		MeanSlot:    o.pace.mean,
		FailingHeld: l.failing, FailingMost: max(l.cap, l.failing+l.free-l.healthy),
	}
	for _, x := range o.lanes {
		if x.pool == p {
			v.Waiting, v.Stopped, v.Silent = v.Waiting+x.inLine, v.Stopped+x.stopped, v.Silent+x.waiting-x.stopped-x.inLine
		}
	}
	for _, h := range o.due {
		if h.Turn.Pool == p {
			v.Due++
		}
	}
	holding := map[string]int{}
	o.ledger.Holders(func(h *slots.Host) {
		if h.Pool == p {
			holding[h.Tenant()]++
		}
	})
	for _, t := range o.tenants {
		if shown, waits := t.show(now, p); waits || holding[t.name] > 0 {
			shown.Holding = holding[t.name]
			v.Tenants = append(v.Tenants, shown)
		}
		delete(holding, t.name)
	}
	for name, n := range holding {
		v.Tenants = append(v.Tenants, Tenant{Name: name, Weight: o.weights.of(name), Holding: n})
	}
	slices.SortFunc(v.Tenants, func(a, b Tenant) int { return cmp.Compare(a.Name, b.Name) })
	return v
}

// show returns the tenant as View shows it, and whether it has hosts in line for p.
func (t *tenant) show(now time.Time, p slots.Pool) (shown Tenant, waits bool) {
	shown = Tenant{Name: t.name, Weight: t.weight}
	for _, l := range t.lines {
		if l.lane.pool != p || len(l.hosts) == 0 {
			continue
		}
		kind := 0
		if l.lane.failing {
			kind = 1
			shown.Failing = len(l.hosts)
		}
		shown.Waiting += len(l.hosts)
		shown.Waited[kind] = now.Sub(l.hosts[0].host.Turn.Since)
		waits = true
	}
	return shown, waits
}

// Hosts yields the hosts in line for p in their order, hosts of open lanes first.
func (o *Order) Hosts(p slots.Pool) iter.Seq[*slots.Host] {
	return func(yield func(*slots.Host) bool) {
		more := true
		for _, open := range []bool{true, false} {
			var lanes []*lane
			for _, l := range o.lanes {
				if l.pool == p && l.open() == open {
					lanes = append(lanes, l)
				}
			}
			for h := range o.walk(lanes) {
				if more = more && yield(h); !more {
					return
				}
			}
		}
	}
}

// Others returns the hosts of p that wait and are silent or stopped, the longest waiting first.
func (o *Order) Others(p slots.Pool) []*slots.Host {
	var all []*slots.Host
	for _, h := range o.hosts {
		if !h.Turn.InLine && h.Turn.Pool == p {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b *slots.Host) int {
		return cmp.Or(a.Turn.Since.Compare(b.Turn.Since), byKey(placeOf(a), placeOf(b)))
	})
	return all
}

// Lane returns the name of h's lane: failing or healthy.
func (o *Order) Lane(h *slots.Host) string {
	if h.Turn.Errors >= FailingFrom {
		return "failing"
	}
	return "healthy"
}
