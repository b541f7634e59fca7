package stress

import (
	"context"
	"sync/atomic"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

// Plan says how much is played.
type Plan struct {
	Storms []Storm
	Seeds  int // 1..Seeds of each storm and way in
	// Others plays the other policies too.
	Others bool
	// Via plays this way in alone; "" is both.
	Via measure.Via
}

// Case is one storm that was played.
type Case struct {
	Storm  string
	Result simulate.Result
}

// Play plays the plan, several storms at a time. hosts counts the hosts that are
// through, of Hosts in all; it may be nil.
func (p Plan) Play(ctx context.Context, hosts *atomic.Int64) ([]Case, error) {
	names, storms := p.all()
	var out []Case
	err := simulate.Compare(ctx, storms, hosts, func(i int, r simulate.Result) error {
		out = append(out, Case{names[i], r})
		return nil
	})
	if err == nil {
		err = ctx.Err()
	}
	return out, err
}

// Hosts counts the hosts of all storms.
func (p Plan) Hosts() (n int) {
	_, storms := p.all()
	for _, o := range storms {
		if len(o.Sizes) == 0 {
			n += o.Hosts
			continue
		}
		for _, size := range o.Sizes {
			n += size
		}
	}
	return n
}

func (p Plan) all() (names []string, storms []simulate.Options) {
	add := func(s Storm, policy measure.Policy, via measure.Via, seeds int) {
		for seed := range seeds {
			o := s.Options
			o.Policy, o.Via, o.Seed = policy, via, uint64(seed+1)
			names, storms = append(names, s.Name), append(storms, o)
		}
	}
	for _, s := range p.Storms {
		for _, way := range ways {
			switch {
			case p.Via != "" && p.Via != way.via:
			case way.policy == measure.PolicyThrottle:
				add(s, way.policy, way.via, p.Seeds)
			case !p.Others || s.Only:
			case s.Long:
				add(s, way.policy, way.via, 1)
			default:
				add(s, way.policy, way.via, p.Seeds)
			}
		}
	}
	return names, storms
}

// way is a column of the table. The rules that an operator has by itself do not
// care what lies between it and Ironic.
type way struct {
	policy measure.Policy
	via    measure.Via
}

var ways = []way{
	{measure.PolicyThrottle, measure.ViaCheck}, {measure.PolicyThrottle, measure.ViaGateway},
	{measure.PolicyFIFO, measure.ViaCheck}, {measure.PolicyFIFO, measure.ViaGateway},
	{measure.PolicyBMO, measure.ViaCheck}, {measure.PolicyProposal, measure.ViaCheck},
}

// Finding is how far a bound was kept: the worst of all seeds, or their mean.
type Finding struct {
	Storm, Bound string
	Via          measure.Via
	Worst, Limit float64
	Seed         uint64 // of the worst, 0 for a mean
	Least, Kept  bool
	Seeds        int
}

// Judge holds the throttle's results against the bounds. Every storm must keep the
// limit in truth (F-1) and come to its end.
func (p Plan) Judge(cases []Case) []Finding {
	var out []Finding
	for _, s := range p.Storms {
		limit := float64(s.Options.Limit)
		bounds := append([]Bound{
			most("F-1: peak of hosts that really work", limit, func(r simulate.Result) float64 { return float64(r.PeakWorking) }),
			most("storms that did not end", 0, func(r simulate.Result) float64 { return float64(min(1, len(r.Unfinished()))) }),
		}, s.Bounds...)
		for _, b := range bounds {
			for _, via := range []measure.Via{measure.ViaCheck, measure.ViaGateway} {
				if b.Via != "" && b.Via != via {
					continue
				}
				if f, played := judge(s.Name, b, via, cases); played {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

func judge(storm string, b Bound, via measure.Via, cases []Case) (f Finding, played bool) {
	f = Finding{Storm: storm, Bound: b.Name, Via: via, Limit: b.Most, Least: b.least}
	if b.least {
		f.Limit = b.Least
	}
	for _, c := range cases {
		r := c.Result
		if c.Storm != storm || r.Via != via || r.Policy != measure.PolicyThrottle {
			continue
		}
		v := b.Of(r, func(other string) simulate.Result { return find(cases, other, r) })
		f.Seeds++
		switch {
		case b.Mean:
			f.Worst += (v - f.Worst) / float64(f.Seeds)
		case f.Seeds == 1, b.least && v < f.Worst, !b.least && v > f.Worst:
			f.Worst, f.Seed = v, r.Seed
		}
	}
	f.Kept = b.least && f.Worst >= b.Least || !b.least && f.Worst <= b.Most
	return f, f.Seeds > 0
}

func find(cases []Case, storm string, like simulate.Result) simulate.Result {
	for _, c := range cases {
		r := c.Result
		if c.Storm == storm && r.Seed == like.Seed && r.Via == like.Via && r.Policy == like.Policy {
			return r
		}
	}
	return simulate.Result{}
}
