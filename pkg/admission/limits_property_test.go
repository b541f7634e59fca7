package admission_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// drawLimits draws limits, and lanes that go with them.
func drawLimits(rt *rapid.T) (slots.Limits, admission.Turns) {
	total := rapid.IntRange(1, 60).Draw(rt, "total")
	l := slots.Limits{Total: total, StuckCap: rapid.IntRange(0, total).Draw(rt, "stuck cap"), Groups: map[string]int{}}
	for _, group := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"rack1", "rack2", "rack3"}), 0, 3, rapid.ID).Draw(rt, "groups") {
		l.Groups[group] = rapid.IntRange(1, total).Draw(rt, group)
	}
	l.VirtualMedia = rapid.IntRange(0, 60).Draw(rt, "virtual media")
	turns := admission.DefaultTurns()
	if rapid.Bool().Draw(rt, "lanes") && total > 1 {
		turns.Cap = rapid.IntRange(1, total).Draw(rt, "cap")
		turns.Reserve = rapid.IntRange(0, min(total-1, total-turns.Cap)).Draw(rt, "reserve")
	}
	return l, turns
}

// Whatever was learned and set: what is valid is taken, no limit is above what is set, none of a
// group above the total, and nobody loses a slot.
func TestSZ8_LimitsStayWithinWhatIsSet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		learned := sizing.State{Pools: map[string]sizing.Record{}}
		for _, pool := range []string{"", "rack1", "rack2", slots.VirtualMediaPool} {
			if rapid.Bool().Draw(rt, "learned of "+pool) {
				learned.Pools[pool] = sizing.Record{Limit: rapid.IntRange(1, 100).Draw(rt, "limit of "+pool)}
			}
		}
		cfg := admission.DefaultConfig()
		cfg.Adaptive, cfg.Learned = rapid.Bool().Draw(rt, "adaptive"), learned
		cfg.Slots.Limits, cfg.Turns = drawLimits(rt)
		c, err := admission.New(cfg, t0)
		if err != nil {
			rt.Fatal(err)
		}
		set, s, held := cfg.Slots.Limits, &site{T: t, Controller: c, now: t0}, map[int]bool{}
		for n := range 10 {
			s.node(n, ironic.Available, "ipxe").ConductorGroup = []string{"", "rack1", "rack2"}[n%3]
		}
		for range rapid.IntRange(1, 5).Draw(rt, "changes") {
			switch rapid.SampledFrom([]string{"settings", "settings", "another term", "asks"}).Draw(rt, "what") {
			case "settings":
				limits, turns := drawLimits(rt)
				if err := c.Reconfigure(s.now, limits, turns); err != nil {
					rt.Fatalf("%+v, %+v: %v", limits, turns, err)
				}
				set = limits
			case "another term":
				if err := c.Start(s.now, nil, true, learned); err != nil {
					rt.Fatal(err)
				}
				s.after(time.Second) // it finds who is at work
			case "asks":
				for range 2 { // the first time it is not known where they belong
					s.after(time.Minute)
					for n, node := range s.nodes {
						if c.IsReady(s.now, by(n, api.OpProvision)).Ready {
							held[n] = true
							node.State, node.AgentURL = ironic.Deploying, true
						}
					}
				}
				s.after(time.Second)
			}
			status := c.Status(s.now)
			if total := status.Slots.Total; total.Limit > set.Total || total.Limit < 1 || total.Occupied != len(held) {
				rt.Fatalf("%+v with %+v, of %d hosts", total, set, len(held))
			}
			for group, most := range set.Groups {
				if got := status.Slots.Pools[group].Limit; got < 1 || got > most || got > status.Slots.Total.Limit {
					rt.Fatalf("%s: %d with %+v and a total of %d", group, got, set, status.Slots.Total.Limit)
				}
			}
			for _, p := range status.Sizing.Pools {
				if got := c.LearnedLimits(); got.Pools[p.Pool].Limit < 1 || p.Limit > p.Ceiling {
					rt.Fatalf("%+v, learned %+v", p, got.Pools[p.Pool])
				}
			}
		}
		state := c.LearnedLimits()
		text, err := state.Text()
		if err == nil {
			_, err = sizing.ParseState(text)
		}
		if err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
	})
}
