package slots

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestTheCountersMirrorTheHosts drives a ledger with anything in any order and
// compares its counters and books with a recount from the hosts.
func TestTheCountersMirrorTheHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := DefaultConfig()
		cfg.Total = rapid.IntRange(1, 4).Draw(t, "limit")
		cfg.StuckCap = rapid.IntRange(0, cfg.Total).Draw(t, "stuckCap")
		cfg.StuckAfter = 3 * time.Minute
		cfg.CountExtra = rapid.Bool().Draw(t, "extra")
		if rapid.Bool().Draw(t, "pools") {
			cfg.Groups, cfg.VirtualMedia = map[string]int{"rack1": 1}, 1
		}
		now := time.Unix(0, 0)
		l, err := New(cfg, now)
		if err != nil {
			t.Fatal(err)
		}
		d := &driver{t: t, l: l, now: now}
		t.Repeat(map[string]func(*rapid.T){
			"":       func(*rapid.T) { recount(t, l) },
			"wait":   func(t *rapid.T) { d.now = d.now.Add(time.Duration(rapid.IntRange(-5, 200).Draw(t, "s")) * time.Second) },
			"ask":    d.ask,
			"poll":   d.poll,
			"fetch":  d.fetch,
			"put":    d.put,
			"answer": d.answer,
			"limits": d.limits,
		})
	})
}

type driver struct {
	t    *rapid.T
	l    *Ledger
	now  time.Time
	puts []*Put
}

func drawNode(t *rapid.T) ironic.Node {
	n := rapid.IntRange(0, 5).Draw(t, "node")
	node := ironic.Node{UUID: fmt.Sprint("u", n)}
	switch rapid.IntRange(0, 3).Draw(t, "name") {
	case 0, 1:
		node.Name = fmt.Sprint("ns~", n)
	case 2:
		node.Name = fmt.Sprint("ns~", rapid.IntRange(0, 5).Draw(t, "other"))
	}
	node.State = rapid.SampledFrom([]ironic.State{
		ironic.Deploying, ironic.CleanWait, ironic.InspectWait, ironic.Servicing, ironic.DeployHold,
		ironic.Active, ironic.Available, ironic.Manageable, ironic.DeployFailed,
	}).Draw(t, "state")
	node.AgentURL = rapid.Bool().Draw(t, "agent")
	node.AgentHeartbeat = rapid.SampledFrom([]string{"", "", "", "beat"}).Draw(t, "beat")
	node.ConductorGroup = rapid.SampledFrom([]string{"", "rack1"}).Draw(t, "group")
	node.BootInterface = rapid.SampledFrom([]string{"ipxe", "ipxe", "redfish-virtual-media"}).Draw(t, "boot")
	return node
}

func (d *driver) drawAsk(t *rapid.T) Ask {
	n := drawNode(t)
	ask := Ask{ID: ID{UUID: n.UUID, Name: n.Name}, Group: n.ConductorGroup, VirtualMedia: n.VirtualMedia()}
	if ask.ID.Name != "" && rapid.Bool().Draw(t, "nameOnly") {
		ask.ID.UUID = ""
	}
	ask.Op = rapid.SampledFrom(api.Ops()).Draw(t, "op")
	ask.BMHState = rapid.SampledFrom([]api.BMHState{"", api.BMHInspecting, api.BMHProvisioning, api.BMHPreparing}).Draw(t, "bmh")
	ask.Deleting = rapid.IntRange(0, 9).Draw(t, "deleting") == 0
	return ask
}

func (d *driver) ask(t *rapid.T) {
	v := d.l.Check(d.now, d.drawAsk(t))
	switch {
	case v.Outcome == Open && v.Free > 0:
		d.l.Grant(d.now, v)
	case v.Outcome == Open && rapid.Bool().Draw(t, "observe"):
		d.l.Observed(d.now, v)
	default:
		d.l.Commit(d.now, v)
	}
}

func (d *driver) poll(t *rapid.T) {
	o := ironic.Observation{Mark: d.l.Begin(d.now)}
	for range rapid.IntRange(0, 5).Draw(t, "nodes") {
		o.Nodes = append(o.Nodes, drawNode(t))
	}
	keys := append(d.l.Missing(d.now, o.Nodes), d.l.Wanted(d.now)...)
	for _, key := range keys {
		o.Fetched = append(o.Fetched, d.observe(t, key))
	}
	d.l.Observe(d.now, o)
	d.l.Notices()
}

func (d *driver) observe(t *rapid.T, key string) ironic.NodeObservation {
	s := ironic.NodeObservation{Key: key, Mark: d.l.Begin(d.now), Found: rapid.Bool().Draw(t, "found")}
	if s.Found {
		s.Node = drawNode(t)
		if key[0] == 'u' {
			s.Node.UUID = key
		} else {
			s.Node.Name = key
		}
	}
	return s
}

func (d *driver) fetch(t *rapid.T) {
	d.l.ObserveNode(d.now, d.observe(t, rapid.SampledFrom([]string{"u1", "u2", "ns~1", "ns~3"}).Draw(t, "key")))
}

func (d *driver) put(t *rapid.T) {
	n := drawNode(t)
	target := rapid.SampledFrom([]ironic.Target{ironic.TargetActive, ironic.TargetInspect, ironic.TargetClean, ironic.TargetDeleted}).Draw(t, "target")
	v := d.l.Check(d.now, Ask{ID: ID{UUID: n.UUID, Name: n.Name}, Op: target.Op(), Put: true, Group: n.ConductorGroup})
	if v.Outcome == Held || v.Outcome == Open && v.Free > 0 {
		d.puts = append(d.puts, d.l.Forward(d.now, v, target))
	}
}

func (d *driver) answer(t *rapid.T) {
	if len(d.puts) == 0 {
		t.Skip("no PUT is in flight")
	}
	i := rapid.IntRange(0, len(d.puts)-1).Draw(t, "which")
	put := d.puts[i]
	switch rapid.IntRange(0, 4).Draw(t, "how") {
	case 0:
		d.l.Sent(d.now, put)
	case 1:
		d.l.Answered(d.now, put, rapid.SampledFrom([]int{202, 400, 409, 500, 302}).Draw(t, "status"))
	case 2:
		d.l.Broken(d.now, put)
	case 3:
		d.l.Unsent(d.now, put)
	}
}

func (d *driver) limits(t *rapid.T) {
	l := Limits{Total: rapid.IntRange(1, 4).Draw(t, "total")}
	if rapid.Bool().Draw(t, "groups") {
		l.Groups = map[string]int{"rack1": 1}
	}
	if err := d.l.SetLimits(d.now, l); err != nil {
		t.Fatal(err)
	}
}

func recount(t *rapid.T, l *Ledger) {
	var total, virtualMedia tally
	groups := map[string]tally{}
	booting := 0
	if l.illegalMoves > 0 {
		t.Fatalf("%d moves that are no transition", l.illegalMoves)
	}
	seen := map[*host]bool{}
	visit := func(h *host) {
		if seen[h] {
			return
		}
		seen[h] = true
		if h.id.UUID != "" && l.byUUID[h.id.UUID] != h {
			t.Fatalf("%+v is not in the book by its UUID", h.id)
		}
		if _, live := l.live[h]; live != (h.holds() || h.busy(l.cfg.CountExtra)) {
			t.Fatalf("%+v: live is %v", h.id, live)
		}
		if h.boots {
			booting++
			if h.holds() || !h.busy(l.cfg.CountExtra) {
				t.Fatalf("%+v is shown as booting", h.id)
			}
		}
		if h.puts.inFlight < 0 || h.puts.unknown < 0 {
			t.Fatalf("%+v: %d PUTs in flight, %d of unknown outcome", h.id, h.puts.inFlight, h.puts.unknown)
		}
		if !h.holds() || h.writtenOff {
			return
		}
		one := tally{occupied: 1}
		if h.phase == leased {
			one.leased = 1
		}
		switch {
		case h.pool.exempt:
		case h.pool.VirtualMedia:
			virtualMedia.occupied += one.occupied
			virtualMedia.leased += one.leased
		default:
			total.occupied += one.occupied
			total.leased += one.leased
			g := groups[h.pool.Group]
			g.occupied += one.occupied
			g.leased += one.leased
			groups[h.pool.Group] = g
		}
	}
	for _, h := range l.byUUID {
		visit(h)
	}
	for _, h := range l.byName {
		visit(h)
	}
	for h := range l.live {
		if !seen[h] {
			t.Fatalf("%+v holds a slot, but nobody can find it", h.id)
		}
	}
	if *noSlot != (slot{}) {
		t.Fatalf("somebody has written to the slot of those that hold none: %+v", *noSlot)
	}
	if total != l.total || virtualMedia != l.virtual || booting != l.booting {
		t.Fatalf("recounted %+v %+v %d, the ledger says %+v %+v %d", total, virtualMedia, booting, l.total, l.virtual, l.booting)
	}
	for name, g := range l.groups {
		if groups[name] != *g {
			t.Fatalf("group %q: recounted %+v, the ledger says %+v", name, groups[name], *g)
		}
	}
}
