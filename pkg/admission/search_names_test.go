package admission

import (
	"fmt"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// What the search plays besides: services, rescues and holds, names that move or that are
// told wrongly, and failures that must be counted, each once.

// set moves a node to another state.
func (w *world) set(m *machine, s ironic.State) {
	w.leaves(m)
	w.runs.Moves++
	m.state, m.stamp = s, fmt.Sprint("stamp-", w.runs.Moves)
	if w.style.seconds {
		m.stamp = w.now.Truncate(time.Second).Format(time.RFC3339)
	}
}

// held puts a hold into the middle of some work.
func (w *world) held(target ironic.Target, states []ironic.State) []ironic.State {
	if !w.style.extras || len(states) < 2 || !w.chance(.3) {
		return states
	}
	hold, then := ironic.CleanHold, ironic.CleanWait
	switch target {
	case ironic.TargetActive:
		hold, then = ironic.DeployHold, ironic.DeployWait
	case ironic.TargetService:
		hold, then = ironic.ServiceHold, ironic.ServiceWait
	case ironic.TargetRescue:
		return states
	}
	w.runs.Holds++
	return append([]ironic.State{states[0], hold, then}, states[1:]...)
}

// goesOn is what somebody does with a host that has an instance, besides deprovisioning
// it: the same again, too.
func (w *world) goesOn(m *machine) bool {
	_, _, _, rescued := transition(m.state, ironic.TargetUnrescue)
	_, _, _, usable := transition(m.state, ironic.TargetService)
	if !w.style.extras || !rescued && !usable || !w.chance(.7) {
		return false
	}
	next := api.OpRescue
	switch {
	case usable && w.chance(.6):
		next = api.OpService
	case rescued && w.chance(.5):
		next = api.OpUnrescue
	case w.chance(.2):
		next = api.OpDeprovision
	}
	m.goal, m.done = next, false
	return true
}

// mispair lets a host ask by the UUID of its node and the name of another, or by name
// alone, where the ledger knows both nodes by their names.
func (w *world) mispair(m *machine, ask *api.Ask) {
	other := w.hosts[w.rng.IntN(len(w.hosts))]
	known := func(m *machine) bool { return m.exists && w.c.ledger.Name(m.uuid) == m.name }
	if !w.style.pairs || !known(m) || !known(other) {
		return
	}
	switch luck := w.rng.Float64(); {
	case luck < .15:
		ask.NodeUUID = ""
	case luck < .28:
		w.runs.Mispaired++
		ask.Name = other.name[len("metal3~"):]
		w.after(w.between(0, 3*time.Second), func() { w.byName(other) })
	}
}

// byName lets a host ask by its name alone, whose name was told wrongly a moment ago.
func (w *world) byName(m *machine) {
	if m.waits > 0 || m.working || !m.exists || w.ending || !w.style.check {
		return
	}
	ask := w.ask(m)
	ask.NodeUUID, ask.Name = "", m.name[len("metal3~"):]
	w.check(m, m.life, ask, func(time.Duration) {})
}

// mix is mischief with names and stamps.
func (w *world) mix(again func(on bool, every time.Duration, f func())) {
	again(w.style.renames, 4*time.Minute, func() {
		a, b := w.hosts[w.rng.IntN(len(w.hosts))], w.hosts[w.rng.IntN(len(w.hosts))]
		if !a.exists || !b.exists {
			return
		}
		w.runs.Renamed++
		a.name, b.name = b.name, a.name
		if a == b {
			w.runs.Moves++
			a.name = fmt.Sprintf("metal3~host-%d-%d", a.n, w.runs.Moves)
		}
		w.logf("host %d is %s now, host %d %s", a.n, a.name, b.n, b.name)
		for _, m := range []*machine{a, b} { // until its controller knows
			w.after(w.between(0, 5*time.Minute), func() { m.said = m.name })
		}
	})
	again(w.style.brisk, 2*time.Minute, func() { // a heartbeat of fast track
		m := w.hosts[w.rng.IntN(len(w.hosts))]
		if m.exists && !m.working && !m.state.Failed() {
			w.set(m, m.state)
		}
	})
}

// failure is work that has failed in Ironic, as often as its node had that stamp.
type failure struct {
	happened, counted int
	shown             int       // sights of it, begun after it, that the Controller had
	seq               uint64    // the newest mark before it
	must              int       // the process whose yes began it and that must count it; 0: none
	at                time.Time // the last time
}

func keyOf(uuid, stamp string, s ironic.State) string { return uuid + " " + stamp + " " + string(s) }

// failed notes that m's work has just failed.
func (w *world) failed(m *machine) {
	w.runs.Failed++
	key := keyOf(m.uuid, m.stamp, m.state)
	f := w.failures[key]
	if f == nil {
		f = &failure{}
		w.failures[key] = f
	}
	f.happened++
	f.at, f.must, f.shown, f.seq = w.now, 0, 0, w.c.Begin(w.clock()).Seq
	ours := m.lawful && !m.meddled && m.by == w.process && (m.yes == api.ReasonGranted || m.yes == api.ReasonHeldSlot)
	if ours {
		f.must = w.process
	}
	if ours && !m.granted.IsZero() && !w.style.outages && !w.style.jumps && !w.style.slowPolls { // as soon as looks at leases are due
		w.after(20*time.Second+max(10*time.Second, w.now.Sub(m.granted)), func() {
			if m.exists && keyOf(m.uuid, m.stamp, m.state) == key {
				w.counts(m)
			}
		})
	}
	m.shadow = !ours
}

// leaves: the node leaves its state. A failure that was there to see for long is counted.
func (w *world) leaves(m *machine) {
	if m.state.Failed() && !w.style.outages && !w.style.jumps && w.now.Sub(w.failureOf(m).at) > 3*w.cfg.Slots.LeaseTTL {
		w.counts(m)
	}
}

func (w *world) failureOf(m *machine) *failure {
	if f := w.failures[keyOf(m.uuid, m.stamp, m.state)]; f != nil {
		return f
	}
	return &failure{at: w.now}
}

func (w *world) counts(m *machine) {
	f := w.failureOf(m)
	if f.must == w.process && f.counted == 0 && w.broken == "" {
		w.broken = fmt.Sprintf("host %d: %s of %.1fs is not counted", m.n, m.state, f.at.Sub(epoch).Seconds())
		w.logf("BROKEN %s", w.broken)
	}
}

// uncounted looks for failures that were left to be seen to the end.
func (w *world) uncounted() {
	for _, m := range w.hosts {
		if m.exists && m.state.Failed() {
			w.counts(m)
		}
	}
}

// shows gives the Controller something to see, as its own methods do, and looks at the endings
// that it sees there.
func (w *world) shows(observe func(c *Controller, now time.Time), sights []ironic.NodeObservation) {
	c, now := w.c, w.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	observe(c, now)
	for _, e := range c.ledger.Endings() {
		w.ended(e)
		c.workEnded(now, e)
	}
	c.sync(now)
	c.polled(now)
	c.sync(now)
	c.failure = ""
	c.policy.notices = nil
	for _, n := range c.ledger.Notices() {
		for _, m := range w.hosts { // written off, though it may move before the law is looked at
			m.excused = m.excused || n.Kind == slots.NoticeStuck && m.uuid == n.ID.UUID
		}
	}
	for _, s := range sights {
		for _, m := range w.hosts {
			if s.Found && m.uuid == s.Node.UUID && m.stamp == s.Node.ProvisionUpdatedAt {
				m.shadow = false
				if f := w.failureOf(m); m.state == s.Node.State && s.Mark.Seq > f.seq {
					// One that was on its way when a 2xx came in tells nothing.
					if f.shown++; f.shown > 1 {
						w.counts(m)
					}
				}
			}
		}
	}
}

// sights are all that a look has shown.
func sights(observed ironic.Observation) []ironic.NodeObservation {
	out := slices.Clone(observed.Fetched)
	for _, n := range observed.Nodes {
		out = append(out, ironic.NodeObservation{Mark: observed.Mark, Found: true, Node: n})
	}
	return out
}

// ended: a failure is counted as often as it happened, at most.
func (w *world) ended(e slots.Ending) {
	if e.Result != slots.Failed {
		return
	}
	w.runs.Counted++
	f := w.failures[keyOf(e.Host.ID().UUID, e.Token, e.State)]
	if f != nil {
		f.counted++
	}
	if w.broken == "" && (f == nil || f.counted > f.happened) {
		w.broken = fmt.Sprintf("%+v is counted once too often", e)
		w.logf("BROKEN %s", w.broken)
	}
}
