package fairshare

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// View shows the order of one pool to people.
type View struct {
	Waiting, Silent, Stopped, Due int           // hosts; Waiting: in line
	MeanSlot                      time.Duration // Unmeasured while it is not known
	FailingHeld, FailingMost      int
	Tenants                       []Tenant // by name
}

// Tenant is one tenant.
type Tenant struct {
	Name                      string
	Weight                    float64
	Holding, Waiting, Failing int              // Failing: of those Waiting
	Waited                    [2]time.Duration // of the first healthy and the first failing host
}

// View shows the order of the hosts of a pool.
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
		if h.Turn.Pool == p && o.Due(now, h) {
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

// show shows the tenant's hosts that are in line in a pool, if there are any.
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

// Hosts are the hosts of a pool that are in line, in their order: first those that a slot could be given.
func (o *Order) Hosts(p slots.Pool) iter.Seq[*slots.Host] {
	return func(yield func(*slots.Host) bool) {
		more := true
		for _, open := range []bool{true, false} {
			var in []*lane
			for _, l := range o.lanes {
				if l.pool == p && l.open() == open {
					in = append(in, l)
				}
			}
			for h := range o.walk(in) {
				if more = more && yield(h); !more {
					return
				}
			}
		}
	}
}

// Others are the hosts of a pool that wait and are silent or stopped, those that have waited longest first.
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

// Lane is how the lane of a host is shown.
func (o *Order) Lane(h *slots.Host) string {
	if h.Turn.Errors >= FailingFrom {
		return "failing"
	}
	return "healthy"
}
