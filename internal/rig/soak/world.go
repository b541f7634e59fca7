package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/agenda"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Result is what became of a history.
type Result struct {
	Seed   uint64
	Broken string         // the law that it broke; "": none
	Tally  map[string]int // how often each kind of event happened, which shows what histories test
	Story  []string       // each event; only if tell was true
}

// Play plays the history of a seed.
func Play(seed uint64, tell bool) Result {
	w := newWorld(seed, tell)
	if w.Broken == "" {
		w.play()
	}
	w.Tally["virtual hours"] += int(w.at.Hours() + .5)
	return w.Result
}

var epoch = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// world is one history.
type world struct {
	Result
	verbose bool
	dice
	style  style
	cfg    admission.Config // the settings that replicas read now
	at     time.Duration    // the true time, since epoch
	agenda agenda.Agenda

	ironic   *fakeironic.World
	away     time.Duration // no replica and no controller reaches Ironic before this time
	hosts    []*host
	replicas []*replica
	lease    lease
	records  []holdoff.Record // the holds in the ConfigMap or, with one replica, in the file

	quiet  bool // nothing goes wrong any more
	grants int  // slots given so far
}

func newWorld(seed uint64, tell bool) *world {
	w := &world{
		Result: Result{Seed: seed, Tally: map[string]int{}}, verbose: tell, dice: dice{rand.New(rand.NewPCG(seed, 0))},
	}
	w.style = newStyle(w.dice)
	w.cfg = w.newConfig()
	o := fakeironic.DefaultOptions()
	span := func(low, high int) fakeironic.Span {
		return fakeironic.Span{Min: time.Duration(low) * time.Second, Max: time.Duration(high) * time.Second}
	}
	d := &o.Durations
	d.Prepare, d.Boot, d.InspectRun = span(1, 8), span(10, 60), span(0, 40)
	d.CleanRun, d.DeployRun = span(2, 60), span(5, 120)
	d.FinalReboot, d.TearDown, d.Service, d.Callback = span(1, 10), span(1, 10), span(20, 200), 5*time.Minute
	o.Seed, o.API.MaxMinor, o.API.MaxLimit = seed, 95, w.style.page
	o.WholeSeconds, o.FastTrack = w.style.seconds, w.style.fast
	o.Fates = fakeironic.Fates{FailTargets: []string{"active", "clean", "provide", "inspect", "deleted", "service"}}
	if w.style.has(failures) {
		o.Fates.CleanReboot = .2
	}
	var err error
	if w.ironic, err = fakeironic.NewWorld(o, epoch); err != nil {
		w.failf("%v", err)
		return w
	}
	w.newHosts()
	for n := range w.style.replicas {
		w.newReplica(n)
	}
	return w
}

// play plays the history. w.Broken names the law that it breaks.
func (w *world) play() {
	for _, r := range w.replicas {
		r.start(w.between(0, 5*time.Second))
	}
	for _, h := range w.hosts {
		w.drive(h, w.between(0, 40*time.Second))
	}
	w.mischief()
	w.until(w.style.length)
	w.drain()
}

// until plays events up to t, or to the first broken law.
func (w *world) until(t time.Duration) {
	for w.Broken == "" {
		at, ok := w.agenda.Next()
		if !ok || at > t {
			w.at = t
			return
		}
		w.at = at
		w.agenda.Take()()
	}
}

func (w *world) after(d time.Duration, do func()) { w.agenda.Add(w.at+max(0, d), do) }

// now returns the true time.
func (w *world) now() time.Time { return epoch.Add(w.at) }

// wrong draws whether a fault comes now. It comes only in histories that have it, and with the probability p.
func (w *world) wrong(f fault, p float64) bool {
	comes := w.style.has(f) && !w.quiet && w.chance(p)
	if comes {
		w.Tally[string(f)]++
	}
	return comes
}

// reaches reports whether Ironic can be reached now.
func (w *world) reaches() bool { return w.at >= w.away }

// tellf adds a line to the story, if there is one.
func (w *world) tellf(format string, args ...any) {
	if w.verbose {
		w.Story = append(w.Story, fmt.Sprintf("%8.1fs ", w.at.Seconds())+fmt.Sprintf(format, args...))
	}
}

// failf ends the history because it has broken a law.
func (w *world) failf(format string, args ...any) {
	if w.Broken == "" {
		w.Broken = fmt.Sprintf(format, args...)
		w.tellf("BROKEN: %s", w.Broken)
	}
}

// node returns a node as it really is.
func (w *world) node(ident string) (ironic.Node, bool) { return w.ironic.Node(w.now(), ident) }

// leader returns the replica that decides; nil: none does.
func (w *world) leader() *replica {
	i := slices.IndexFunc(w.replicas, (*replica).mayStart)
	if i < 0 {
		return nil
	}
	return w.replicas[i]
}
