package admission

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is one random history: an Ironic, its clients, and the Controller.
type world struct {
	rng     *rand.Rand
	now     time.Time
	skew    time.Duration // the Controller's clock runs this far behind
	queue   events
	seq     int
	cfg     Config
	c       *Controller
	process int // grows with each restart

	hosts    []*machine
	nextUUID int
	outage   time.Time // no request is answered before
	style    style
	ending   bool              // nobody asks any more
	listed   time.Time         // when the last lists were begun, by the Poller's clock
	stamps   map[string]string // what the probe before them showed
	failures map[string]*failure

	runs     tallyOfRuns
	planning *rand.Rand // draws what is planned: all else stays what it is without that
	sizing   *rand.Rand // when limits change

	broken  string
	verbose bool
	trace   []string
	shown   string
}

// style is what kind of history this is.
type style struct {
	gateway, check           bool
	nameOnly                 bool
	foreign, remakes, breaks bool
	restarts, outages, jumps bool
	slowPolls, stuck         bool
	probing                  bool // polls leave the lists out when nothing has changed
	extras                   bool // services and rescues, and work that is held in the middle
	brisk                    bool // work that ends before anybody looks, often badly
	renames, pairs           bool // names move in Ironic; asks pair a node with another's name
	seconds                  bool // stamps of whole seconds
	planned                  bool // some work is planned (DC-24)
	crashes                  bool // conductors are killed, and lose work
	length                   time.Duration
}

// machine is one host: a node in Ironic and its BareMetalHost.
type machine struct {
	n       int
	life    int // grows when it is made anew
	uuid    string
	name    string // in Ironic
	said    string // what its controller takes for its name
	group   string
	exists  bool
	state   ironic.State
	stamp   string // provision_updated_at
	working bool
	lawful  bool // the present work was started on a yes
	flow    int  // grows with each accepted PUT
	agent   bool
	beat    int
	erred   bool // last_error
	lost    bool // its conductor was killed, and nobody works on it any more
	kept    bool // its UUID is told when asking
	planned bool // its work is planned

	goal    api.Op
	waits   int  // PUTs that its controller waits for
	fresh   bool // no work since the last grant
	done    bool // the last work ended well
	excused bool // holds a slot that no process has granted it (F-1)
	meddled bool // somebody else started work, and we have not said yes since
	bare    bool // the last yes of a check was to its name alone

	yes     api.Reason // of the last yes
	granted time.Time
	by      int  // the process on whose yes it works
	shadow  bool // somebody else's work has failed, and nobody has seen it yet
}

func newWorld(seed uint64) *world {
	w := &world{rng: rngFor(seed), now: epoch, failures: map[string]*failure{}}
	w.style = style{
		gateway: w.chance(.6), nameOnly: w.chance(.2), foreign: w.chance(.3), remakes: w.chance(.4),
		breaks: w.chance(.6), restarts: w.chance(.4), outages: w.chance(.5), jumps: w.chance(.2),
		slowPolls: w.chance(.4), stuck: w.chance(.2),
		length: w.between(20*time.Minute, 2*time.Hour),
	}
	w.style.check = !w.style.gateway || w.chance(.4)
	w.style.probing = rand.New(rand.NewPCG(seed, 7)).IntN(2) == 0
	more := rand.New(rand.NewPCG(seed, 8))
	w.style.extras, w.style.brisk, w.style.seconds = more.IntN(2) == 0, more.IntN(2) == 0, more.IntN(3) == 0
	switch k := more.IntN(4); { // who asks by names that move gets the slot of another
	case w.style.nameOnly:
	case k == 0:
		w.style.renames = true
	case k == 1:
		w.style.pairs = true
	}
	w.style.crashes = rand.New(rand.NewPCG(seed, 9)).IntN(4) == 0
	w.style.planned = rand.New(rand.NewPCG(seed, 10)).IntN(2) == 0
	w.planning = rand.New(rand.NewPCG(seed, 11))
	cfg := DefaultConfig()
	s := &cfg.Slots
	s.Total = 1 + w.rng.IntN(4)
	s.StuckCap = w.rng.IntN(s.Total + 1)
	s.StuckAfter = 0
	if w.style.stuck {
		s.StuckAfter = w.between(5*time.Minute, 20*time.Minute)
	}
	if w.chance(.5) {
		s.LeaseTTL, s.Linger, s.Settle = 100*time.Second, 20*time.Second, 25*time.Second
	}
	if w.chance(.3) {
		s.Count = slots.CountBusy
	}
	if w.chance(.3) {
		s.Groups = map[string]int{"rack1": 1 + w.rng.IntN(s.Total)}
	}
	s.CountExtra = w.style.extras && more.IntN(3) == 0
	if w.sizing = rand.New(rand.NewPCG(seed, 12)); w.sizing.IntN(3) == 0 {
		cfg.Adaptive = true
	}
	w.cfg = cfg
	w.stormFaults(rand.New(rand.NewPCG(seed, 6)))
	for i := range 3 + w.rng.IntN(8) {
		m := &machine{n: i, kept: !w.style.nameOnly, name: fmt.Sprintf("metal3~host-%d", i)}
		if w.chance(.4) {
			m.group = "rack1"
		}
		w.hosts = append(w.hosts, m)
		w.create(m)
		if w.chance(.3) {
			m.state = ironic.Available
		}
	}
	return w
}

// stormy lets failures matter: breakers that open at once, short holds, pools that are
// paused. Whatever they stop, the limit holds and no slot is lost.
func (w *world) stormFaults(rng *rand.Rand) {
	b := w.cfg.Breakers
	b.Ironic.FailureThreshold, b.Others.FailureThreshold = 2+rng.IntN(9), 2+rng.IntN(3)
	b.Ironic.RecoveryTimeout = time.Duration(1+rng.IntN(15)) * time.Minute
	b.Others.RecoveryTimeout = b.Ironic.RecoveryTimeout
	if rng.IntN(3) == 0 {
		b.Ironic.RateLimitPerMinute = 1 + rng.IntN(5)
	}
	if rng.IntN(3) == 0 {
		w.cfg.Holdoff.Timeout = time.Duration(1+rng.IntN(20)) * time.Minute
		w.cfg.Holdoff.Stage = []holdoff.Stage{holdoff.Retry, holdoff.Remediate}[rng.IntN(2)]
	}
	if rng.IntN(4) == 0 {
		w.cfg.MaxFailed, _ = holdoff.ParseQuota("50%")
	}
}

// clock is what the Controller is told.
func (w *world) clock() time.Time { return w.now.Add(-w.skew) }

func (w *world) play() {
	w.boot()
	for _, m := range w.hosts {
		w.drive(m, m.life)
	}
	w.mischief()
	w.until(epoch.Add(w.style.length))
	w.drain()
}

// until runs events up to t, or to the first broken law.
func (w *world) until(t time.Time) {
	for w.queue.Len() > 0 && w.broken == "" && !w.queue[0].at.After(t) {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
	if w.broken == "" {
		w.now = t
	}
}

// drain lets all work end and then looks for slots that nobody gives back.
func (w *world) drain() {
	if w.broken != "" {
		return
	}
	w.ending = true
	w.outage = w.now
	for _, m := range w.hosts {
		if m.working {
			w.end(m, m.flow, ironic.Error)
		}
	}
	w.until(w.now.Add(3*w.cfg.Slots.LeaseTTL + 10*time.Minute))
	w.uncounted()
	if s := w.c.Status(w.clock()); w.broken == "" && (s.Slots.Total.Occupied != 0 || s.Slots.Total.Booting != 0) {
		w.broken = fmt.Sprintf("slots are lost: %+v", s.Slots)
	}
}

// boot starts a process: nothing of an earlier one is known.
func (w *world) boot() {
	if w.c != nil {
		w.excuse()
	}
	w.process++
	w.stamps, w.listed = nil, time.Time{}
	c, err := New(w.cfg, w.clock())
	if err != nil {
		w.broken = err.Error()
		return
	}
	w.c = c
	w.resizes(w.process)
	w.logf("start process %d: %+v", w.process, w.cfg.Slots)
	w.poll(w.process)
}

func (w *world) create(m *machine) {
	w.nextUUID++
	m.life++
	m.uuid = fmt.Sprintf("00000000-0000-0000-0000-%012d", w.nextUUID)
	m.said = m.name
	m.state, m.stamp, m.exists, m.working, m.fresh, m.erred, m.done = ironic.Manageable, "", true, false, false, false, false
	m.yes, m.shadow = "", false
	m.excused, m.meddled = m.excused && (!m.kept || m.bare), false // a name keeps its slot
	m.flow++
	m.goal = api.OpInspect
	if w.chance(.5) {
		m.goal = api.OpProvision
	}
}

// law checks F-1: more may work than the limit only by hosts that nobody
// granted the slot they hold, that were written off, or that started by
// themselves.
func (w *world) law() {
	working, inGroup := 0, 0
	for _, m := range w.hosts {
		if m.working {
			working++
			if m.group == "rack1" {
				inGroup++
			}
		}
	}
	limit, groupLimit := w.cfg.Slots.Total, w.cfg.Slots.Groups["rack1"]
	if working <= limit && (groupLimit == 0 || inGroup <= groupLimit) {
		return
	}
	status := w.excuse()
	for _, m := range w.hosts {
		if m.working && (m.excused || !m.lawful) {
			working--
			if m.group == "rack1" {
				inGroup--
			}
		}
	}
	if working > limit || groupLimit > 0 && inGroup > groupLimit {
		w.broken = fmt.Sprintf("%d hosts work (%d in rack1) where %d (%d) may: %+v",
			working, inGroup, limit, groupLimit, status.Slots)
		w.logf("BROKEN %s", w.broken)
	}
}

// excuse marks the hosts that hold a slot which was not granted, or that were
// written off. The mark outlives a restart.
func (w *world) excuse() api.Status {
	status := w.c.Status(w.clock())
	for _, o := range status.Slots.Occupants {
		if o.Kind != "adopted" && o.Kind != "foreign" && !o.Stuck {
			continue
		}
		for _, m := range w.hosts {
			if m.uuid == o.NodeUUID || !m.kept && m.name == o.Name {
				m.excused = true
			}
		}
	}
	return status
}

// show prints who holds slots, when that has changed.
func (w *world) show(begun time.Time) {
	if !w.verbose {
		return
	}
	var b strings.Builder
	for _, o := range w.c.Status(w.clock()).Slots.Occupants {
		fmt.Fprintf(&b, " [%s %s %s %q]", o.Name, o.Kind, o.Op, o.State)
	}
	if b.String() != w.shown {
		w.shown = b.String()
		w.logf("look begun %.1fs:%s", begun.Sub(epoch).Seconds(), w.shown)
	}
}
