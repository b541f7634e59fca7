package soak

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/virtual"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

var epoch = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// world is one history.
type world struct {
	seed   uint64
	style  style
	cfg    admission.Config // as the configuration says now
	at     time.Duration    // since epoch, the true time
	agenda virtual.Agenda

	ironic   *fakeironic.World
	away     time.Duration // until then nobody reaches Ironic
	hosts    []*host
	replicas []*replica
	lease    lease
	store    store

	clients *rand.Rand // draws what clients do
	faults  *rand.Rand // draws when faults come
	wire    *rand.Rand // draws how long messages take
	plan    *rand.Rand // draws what is planned

	quiet  bool // nothing goes wrong any more
	ending bool // nobody asks any more

	digest  uint64
	tally   Tally
	broken  string
	verbose bool
	story   []string
}

func newWorld(seed uint64, allowed mask) *world {
	w := &world{seed: seed, style: newStyle(seed, allowed), digest: fnv.New64a().Sum64()}
	w.cfg = newConfig(seed, w.style)
	w.tally.Answers = map[api.Reason]int{}
	w.clients, w.faults, w.wire, w.plan = stream(seed, 1), stream(seed, 2), stream(seed, 3), stream(seed, 4)
	o := fakeironic.DefaultOptions()
	span := func(low, high int) fakeironic.Span {
		return fakeironic.Span{Min: time.Duration(low) * time.Second, Max: time.Duration(high) * time.Second}
	}
	d := &o.Durations
	d.Prepare, d.Boot, d.InspectRun, d.CleanRun, d.DeployRun = span(1, 8), span(10, 60), span(0, 40), span(2, 60), span(5, 120)
	d.FinalReboot, d.TearDown, d.Unrescue, d.Service, d.Callback = span(1, 10), span(1, 10), span(1, 30), span(20, 200), 5*time.Minute
	o.Seed, o.API.MaxMinor, o.API.MaxLimit = seed, 95, w.style.page
	o.WholeSeconds, o.FastTrack = w.style.seconds, w.style.fast
	o.Fates = fakeironic.Fates{FailTargets: []string{"active", "clean", "provide", "inspect", "deleted", "rescue", "unrescue", "service"}}
	if w.style.faults.has(failures) {
		o.Fates.CleanReboot = .2
	}
	o.Overload.CollapseAbove, o.Overload.CollapseChance = w.style.collapse, .5
	world, err := fakeironic.NewWorld(o, epoch)
	if err != nil {
		w.broken = err.Error()
		return w
	}
	w.ironic = world
	w.newHosts()
	w.newStore()
	for n := range w.style.replicas {
		w.newReplica(n)
	}
	return w
}

// play lets the history happen. It panics on nothing: what breaks is in w.broken.
func (w *world) play() {
	if w.broken != "" {
		return
	}
	for _, r := range w.replicas {
		r.start(between(r.rng, 0, 5*time.Second))
	}
	for _, h := range w.hosts {
		w.drive(h, between(w.clients, 0, 40*time.Second))
	}
	w.mischief()
	w.until(w.style.length)
	w.drain()
	w.tally.Hours += w.at.Hours()
}

// until plays events up to t, or to the first broken law.
func (w *world) until(t time.Duration) {
	for w.broken == "" {
		at, ok := w.agenda.Next()
		if !ok || at > t {
			break
		}
		w.at = at
		w.agenda.Take()()
	}
	if w.broken == "" {
		w.at = t
	}
}

func (w *world) after(d time.Duration, do func()) { w.agenda.Add(w.at+max(0, d), do) }

// now is the true time.
func (w *world) now() time.Time { return epoch.Add(w.at) }

// reaches reports whether anybody reaches Ironic now.
func (w *world) reaches() bool { return w.at >= w.away }

// mark enters something that happened into the digest of the history.
func (w *world) mark(kind byte, values ...uint64) {
	const prime = 1099511628211
	w.digest = (w.digest ^ uint64(kind)) * prime
	w.digest = (w.digest ^ uint64(w.at)) * prime
	for _, v := range values {
		w.digest = (w.digest ^ v) * prime
	}
}

// markText is mark for a text.
func (w *world) markText(kind byte, n int, text string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	w.mark(kind, uint64(n), h.Sum64())
}

// tellf adds a line to the story, which only a verbose history has.
func (w *world) tellf(format string, args ...any) {
	if w.verbose {
		w.story = append(w.story, fmt.Sprintf("%8.1fs ", w.at.Seconds())+fmt.Sprintf(format, args...))
	}
}

// failf ends the history: a law is broken.
func (w *world) failf(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
		w.tellf("BROKEN: %s", w.broken)
	}
}

// node reads a node as it is.
func (w *world) node(ident string) (ironic.Node, bool) { return w.ironic.Node(w.now(), ident) }

// leader is the replica that leads, as far as clients can tell; nil: none.
func (w *world) leader() *replica {
	i := slices.IndexFunc(w.replicas, func(r *replica) bool { return r.up && r.begun && r.mayStart() })
	if i < 0 {
		return nil
	}
	return w.replicas[i]
}
