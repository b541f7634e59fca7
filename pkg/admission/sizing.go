package admission

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// sizer watches how long boots take, and finds the limits where it may (docs/spec/sizing.md).
type sizer struct {
	by    map[slots.Pool]*sizing.Limiter
	boots map[bootKind]*bootTimes
	state map[ironic.State]*sizing.Times
	works map[ironic.Work]*workTimes
}

type bootKind struct {
	state ironic.State
	group string
}

type bootTimes struct {
	up            *sizing.Times
	failed, ended uint64
}

type workTimes struct {
	succeeded     *sizing.Times
	before, after uint64 // failed
}

// maxTimedGroups bounds the conductor groups whose boots are counted apart; those of others count as
// those of otherGroups.
const (
	maxTimedGroups = 32
	otherGroups    = "(others)"
)

// newSizer returns a sizer that knows what cfg.Learned says.
func newSizer(now time.Time, cfg Config) sizer {
	z := sizer{
		by: map[slots.Pool]*sizing.Limiter{}, boots: map[bootKind]*bootTimes{},
		state: map[ironic.State]*sizing.Times{}, works: map[ironic.Work]*workTimes{},
	}
	z.fit(now, cfg.Slots.Limits, cfg.Adaptive)
	for pool, l := range z.by {
		if r, known := cfg.Learned.Pools[pool.String()]; known {
			l.Restore(now, r)
		}
	}
	return z
}

// fit gives every pool a Limiter with its ceiling, which limits say.
func (z *sizer) fit(now time.Time, limits slots.Limits, adaptive bool) {
	ceilings := map[slots.Pool]int{{}: limits.Total}
	for group, n := range limits.Groups {
		ceilings[slots.Pool{Group: group}] = n
	}
	if limits.VirtualMedia > 0 {
		ceilings[slots.Pool{VirtualMedia: true}] = limits.VirtualMedia
	}
	for pool := range z.by {
		if _, exists := ceilings[pool]; !exists {
			delete(z.by, pool)
		}
	}
	for pool, n := range ceilings {
		if l := z.by[pool]; l != nil {
			l.SetCeiling(now, n)
		} else {
			z.by[pool] = sizing.New(n, adaptive, now)
		}
	}
}

// cutFor reports whether a limit was cut for the boot of a host.
func (z *sizer) cutFor(h slots.Ref) bool {
	for _, l := range z.by {
		if l.CutFor(nameOf(h)) {
			return true
		}
	}
	return false
}

// nameOf names a host to a Limiter.
func nameOf(h slots.Ref) string {
	id := h.ID()
	return cmp.Or(id.UUID, id.Name)
}

// limits is what is in force of those that are set.
func (z *sizer) limits(set slots.Limits) slots.Limits {
	in := set
	in.Total = z.by[slots.Pool{}].Limit()
	in.StuckCap = min(set.StuckCap, in.Total)
	in.Groups = make(map[string]int, len(set.Groups))
	for group := range set.Groups {
		in.Groups[group] = min(in.Total, z.by[slots.Pool{Group: group}].Limit())
	}
	if set.VirtualMedia > 0 {
		in.VirtualMedia = z.by[slots.Pool{VirtualMedia: true}].Limit()
	}
	return in
}

// size takes in what the last poll has shown of boots, and puts the limits in force that follow.
func (c *core) size(now time.Time) {
	timings := c.ledger.Timings()
	for _, t := range timings {
		c.sizer.count(t)
	}
	boots := append(slices.DeleteFunc(timings, func(t slots.Timing) bool { return t.Part != slots.PartBoot }), c.ledger.Boots(now)...)
	boots = slices.DeleteFunc(boots, func(t slots.Timing) bool { return !c.weighs(t) })
	changed := false
	for pool, l := range c.sizer.by {
		p := sizing.Poll{
			Occupied: c.ledger.Occupied(now, pool), Waiting: c.queues.waitingFor(pool), Frozen: len(c.policy.recovering) > 0 || !c.leading(),
		}
		for _, t := range boots {
			switch {
			case !within(t.Pool, pool):
			case t.Result == 0:
				p.Open = append(p.Open, bootOf(t))
			default:
				p.Settled = append(p.Settled, bootOf(t))
			}
		}
		changed = l.Observe(now, p) || changed
	}
	if changed {
		c.resize(now)
	}
}

// within reports whether a slot of the pool where it counts is one of pool too.
func within(where, pool slots.Pool) bool {
	return where == pool || pool == (slots.Pool{}) && !where.VirtualMedia
}

// weighs reports whether a boot says something about the site (SZ-3): the host does not fail anyway.
func (c *core) weighs(t slots.Timing) bool {
	h := hostOf(t.Host)
	return t.Counted && !t.Began.IsZero() && (h == nil || c.policy.errors(h) < c.cfg.Turns.Threshold)
}

func bootOf(t slots.Timing) sizing.Boot {
	return sizing.Boot{
		Host: nameOf(t.Host), Kind: string(t.State), Began: t.Began, Took: t.Took, End: bootEnds[t.Result],
	}
}

var bootEnds = map[slots.Result]sizing.End{
	0: sizing.Open, slots.Succeeded: sizing.Up, slots.Failed: sizing.Failed, slots.Neutral: sizing.Unknown,
}

// resize puts the limits in force that the sizer says. Nobody loses a slot (LH-19) or a place.
func (c *core) resize(now time.Time) {
	// Both are settings that were valid, but for smaller limits.
	_ = c.ledger.SetLimits(now, c.sizer.limits(c.cfg.Slots.Limits))
	_, _ = c.queues.configure(c.cfg.Turns)
	c.queues.outdated = true
	c.sync(now)
}

// count counts what has ended.
func (z *sizer) count(t slots.Timing) {
	measured := !t.Began.IsZero()
	switch t.Part {
	case slots.PartBoot:
		b := z.bootTimes(t)
		switch {
		case t.Result == slots.Failed:
			b.failed++
		case t.Result == slots.Neutral:
			b.ended++
		case measured:
			b.up.Add(t.Took)
		}
	case slots.PartState:
		if !measured {
			return
		}
		if z.state[t.State] == nil {
			z.state[t.State] = sizing.NewTimes(api.TimeBuckets())
		}
		z.state[t.State].Add(t.Took)
	case slots.PartWork:
		w := z.works[t.Work]
		if w == nil {
			w = &workTimes{succeeded: sizing.NewTimes(api.TimeBuckets())}
			z.works[t.Work] = w
		}
		switch {
		case t.Result == slots.Failed && t.Agent:
			w.after++
		case t.Result == slots.Failed:
			w.before++
		case t.Result == slots.Succeeded && measured:
			w.succeeded.Add(t.Took)
		}
	}
}

func (z *sizer) bootTimes(t slots.Timing) *bootTimes {
	key := bootKind{t.State, t.Host.Facts().Group}
	if b := z.boots[key]; b != nil {
		return b
	}
	groups := map[string]bool{}
	for k := range z.boots {
		groups[k.group] = true
	}
	if !groups[key.group] && len(groups) >= maxTimedGroups {
		key.group = otherGroups
	}
	if z.boots[key] == nil {
		z.boots[key] = &bootTimes{up: sizing.NewTimes(api.TimeBuckets())}
	}
	return z.boots[key]
}

// LearnedLimits returns what is known of the limits, as a file keeps it through a restart.
func (c *Controller) LearnedLimits() sizing.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sizer.learned()
}

func (z *sizer) learned() sizing.State {
	s := sizing.State{Pools: make(map[string]sizing.Record, len(z.by))}
	for pool, l := range z.by {
		s.Pools[pool.String()] = l.Record()
	}
	return s
}
