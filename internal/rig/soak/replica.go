package soak

import (
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/lead"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/virtual"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// replica is a pod with a clock. Its processes follow each other.
type replica struct {
	world *world
	n     int

	ahead time.Duration // how far its clock is ahead of the true time
	rate  float64       // how fast its clock runs

	life     int           // counts its processes
	up       bool          // one runs
	paused   time.Duration // the process stands still before this time,
	noAPI    time.Duration // does not reach the API server before this one,
	noIronic time.Duration // and Ironic before this one

	identity string // of its process
	c        *admission.Controller
	polls    *virtual.Poll
	slow     bool             // the present poll takes its time
	fence    *lead.Fence      // nil: there is only one replica
	term     int              // of the Lease that it holds; 0: none
	renewed  time.Time        // when the last renewal of the Lease was confirmed
	begun    bool             // its process decides, while its Lease lasts
	settings admission.Config // the settings that it has read
	saving   bool

	starts    []time.Duration          // when its process let hosts start
	saw       map[string]time.Duration // by UUID: when the last poll began that showed the node at work
	grantedAt time.Duration            // when it last gave a slot
	parts     int                      // slots that the tenant blue got more than red while both asked
}

func (w *world) newReplica(n int) {
	r := &replica{world: w, n: n, rate: 1}
	if w.style.has(skew) {
		r.ahead = w.between(-w.style.skew, w.style.skew)
		r.rate = 1 + (w.Float64()-.5)*4e-3 // far more than any clock's
	}
	w.replicas = append(w.replicas, r)
}

// clock returns the time that its processes see.
func (r *replica) clock() time.Time {
	return epoch.Add(time.Duration(float64(r.world.at)*r.rate) + r.ahead)
}

func (r *replica) cutFromAPI() bool    { return r.world.at < r.noAPI }
func (r *replica) cutFromIronic() bool { return r.world.at < r.noIronic || !r.world.reaches() }

// after lets its present process do something after d, or after a pause of the process. If the process ends before
// that, nothing happens.
func (r *replica) after(d time.Duration, do func()) {
	life := r.life
	var run func()
	run = func() {
		switch {
		case r.life != life || !r.up:
		case r.world.at < r.paused:
			r.world.after(r.paused-r.world.at, run)
		default:
			do()
		}
	}
	r.world.after(d, run)
}

// start starts a process after d.
func (r *replica) start(d time.Duration) {
	life := r.life
	r.world.after(d, func() {
		if r.life == life && !r.up {
			r.boot()
		}
	})
}

func (r *replica) boot() {
	w := r.world
	r.life++
	r.up, r.begun, r.term, r.paused, r.saving = true, false, 0, 0, false
	r.identity = fmt.Sprintf("pod-%d_%d", r.n, r.life)
	r.settings = w.cfg // the replica may have missed a reload
	r.starts, r.saw, r.parts = nil, map[string]time.Duration{}, 0
	cfg := w.cfg
	cfg.Leading, cfg.Notify, cfg.NotifyFailures = r.mayStart, r.noticed, r.failed
	var err error
	if r.c, err = admission.New(cfg, r.clock()); err != nil {
		w.failf("replica %d: %v", r.n, err)
		return
	}
	r.polls = &virtual.Poll{
		World: w.ironic, View: r.c, Page: newest, Extra: cfg.Slots.CountExtra,
		Now: w.now, Clock: r.clock, Request: r.request, Observed: r.observed,
	}
	w.tellf("replica %d: process %d starts, limits %+v, clock %v ahead", r.n, r.life, cfg.Slots.Limits, r.ahead)
	if r.fence = nil; w.style.replicas == 1 {
		r.begin()
		return
	}
	r.fence = lead.NewFence(renewDeadline)
	r.after(w.between(0, time.Second), r.elect)
}

// mayStart reports whether the process may say yes.
func (r *replica) mayStart() bool {
	return r.begun && (r.fence == nil || r.fence.Passes(r.clock()))
}

// begin begins a term of the process as leader. It reads the holds first.
func (r *replica) begin() {
	w := r.world
	if err := r.c.Start(r.clock(), w.records, sizing.State{}); err != nil {
		w.failf("replica %d: %v", r.n, err)
		return
	}
	r.reload() // a replica that stands by may have missed a reload
	r.begun = true
	w.tellf("replica %d decides from now on, with the holds of %d hosts", r.n, len(w.records))
	r.poll()
	r.after(saveInterval, r.saveTick)
}

// die ends the process, and starts the next one after a while.
func (r *replica) die(why string) {
	if !r.up {
		return
	}
	w := r.world
	if r.fence != nil {
		r.fence.End()
	}
	w.tellf("replica %d: process %d ends: %s", r.n, r.life, why)
	r.up, r.begun = false, false
	for _, h := range w.hosts { // holds that nobody has saved end with the process
		if h.hold != nil && !h.hold.saved {
			h.hold = nil
		}
	}
	away := 20 * time.Second
	if w.chance(.5) {
		away = time.Second
	}
	r.start(w.between(0, away))
}

// reload lets the process read the present settings.
func (r *replica) reload() {
	w := r.world
	if !r.up {
		return
	}
	r.settings = w.cfg
	if err := r.c.Reconfigure(r.clock(), w.cfg); err != nil {
		w.failf("replica %d: %v", r.n, err)
	}
	w.tellf("replica %d reloads: %+v", r.n, w.cfg.Slots.Limits)
}

// noticed is Config.Notify: it gets what happened to slots.
func (r *replica) noticed(notices []slots.Notice) {
	for _, n := range notices {
		r.world.tellf("replica %d: %s %s", r.n, n.Kind, n.ID.Name)
		for _, h := range r.world.hosts {
			if n.Kind == slots.NoticeForeign && h.uuid == n.ID.UUID && h.refused.from == r.identity {
				h.refused = refusal{} // at work, the host waits no more
			}
		}
	}
}

// newest is how many nodes the first page of a poll shows: few, so that it often does not reach back to the last poll.
const newest = 6

// poll starts a poll. When it ends, again starts the next one.
func (r *replica) poll() {
	r.slow = r.world.wrong(slowPolls, .3)
	r.polls.Begin()
}

// request is Request of the Poll. Lists and fetches take time only in a slow poll.
func (r *replica) request(s virtual.Stage, _ int, then func()) {
	if !r.slow && (s == virtual.List || s == virtual.Fetch) {
		then()
		return
	}
	d := r.world.between(0, 30*time.Millisecond)
	if r.slow {
		d = r.world.between(0, 1500*time.Millisecond)
	}
	r.after(d, func() {
		if r.cutFromIronic() || !r.world.quiet && r.world.chance(.003) {
			r.polls.Fail()
			r.again()
			return
		}
		then()
	})
}

func (r *replica) observed(o ironic.Observation) {
	see := func(n ironic.Node) {
		if working(n) {
			r.saw[n.UUID] = r.world.at - r.clock().Sub(o.Mark.At)
		}
	}
	for _, n := range o.Nodes {
		see(n)
	}
	for _, f := range o.Fetched {
		see(f.Node)
	}
	r.world.twoLead()
	r.save()
	r.again()
}

// again starts the next poll after a while.
func (r *replica) again() {
	interval := r.world.between(4*time.Second, 9*time.Second)
	if r.world.quiet {
		interval *= 2
	}
	r.after(interval, r.poll)
}
