package admission

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Controller decides. Make one with New; all methods are safe for concurrent
// use. It implements ironic.View.
type Controller struct {
	notify         func([]slots.Notice)
	notifyFailures func([]FailureNotice)
	requests       func() uint64 // through the gateway; nil: there is none
	first          chan struct{} // closed after the first complete poll

	mu   sync.Mutex // guards core, but for its revision
	core            // its methods are called under mu
}

// core is the decision with all that it knows. It has no lock.
type core struct {
	mode    Mode
	hosts   Hosts       // nil: nobody knows the cluster
	leading func() bool // never nil

	cfg      Config // in force; set by New and change alone
	ledger   *slots.Ledger
	policy   *policy
	queues   queues
	sizer    sizer
	asks     tally
	refusals tally // observe: what enforce would have said
	journal  journal
	failure  string    // of the last poll, if it failed
	lastAsk  time.Time // that counted; zero: none
	bypass   bypass
	alone    alone
	revision atomic.Uint64 // counts what changed

	situation situation // of the ask that is answered: kept, as one on the stack would not stay there
}

var _ ironic.View = (*Controller)(nil)

// New returns a Controller that starts now (LH-24).
func New(cfg Config, now time.Time) (*Controller, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	sizer := newSizer(now, cfg)
	inForce := cfg.Slots
	inForce.Limits = sizer.limits(cfg.Slots.Limits)
	ledger, err := slots.New(inForce, now)
	if err != nil {
		return nil, err
	}
	policy, err := newPolicy(cfg, now)
	if err != nil {
		return nil, err
	}
	if cfg.Leading == nil {
		cfg.Leading = func() bool { return true }
	}
	c := &Controller{notify: cfg.Notify, notifyFailures: cfg.NotifyFailures, requests: cfg.GatewayRequests, first: make(chan struct{})}
	c.mode, c.hosts, c.leading, c.cfg = cfg.Mode, cfg.Hosts, cfg.Leading, cfg.settings()
	c.ledger, c.policy, c.sizer, c.asks, c.refusals = ledger, policy, sizer, tally{}, tally{}
	c.queues = queues{ledger: ledger, policy: policy, names: tenantNames{}, uprooted: map[*host]struct{}{}}
	if _, err := c.queues.configure(c.cfg.Turns); err != nil {
		return nil, err
	}
	return c, nil
}

// change edits the settings in force; if the result is not valid, nothing changes. Callers apply
// c.cfg afterwards, from which Start also begins, so that Start keeps every change.
func (c *core) change(edit func(*Config)) error {
	cfg := c.cfg
	edit(&cfg)
	if err := cfg.Validate(); err != nil {
		return err
	}
	c.cfg = cfg.settings()
	return nil
}

// Start begins anew at now, with the settings in force, and the holds and limits that a store has
// kept. Call it when the process begins to lead, or when the holds could not be read before. Asks
// that it answered until then, on standby or in mode observe, leave no trace.
func (c *Controller) Start(now time.Time, holds []holdoff.Record, known bool, learned sizing.State) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	cfg := c.cfg
	cfg.Holds, cfg.HoldsKnown = holds, known
	if cfg.Learned = c.sizer.learned(); len(learned.Pools) > 0 {
		cfg.Learned = learned
	}
	fresh, err := New(cfg, now)
	if err != nil {
		return err
	}
	c.revision.Add(1)
	fresh.ledger.Follow(c.ledger)
	fresh.queues.retired, fresh.queues.names = c.queues.retired, c.queues.names
	fresh.sizer.boots, fresh.sizer.state, fresh.sizer.works = c.sizer.boots, c.sizer.state, c.sizer.works
	c.ledger, c.policy, c.queues, c.sizer, c.bypass, c.alone = fresh.ledger, fresh.policy, fresh.queues, fresh.sizer, bypass{}, alone{}
	return nil
}

// Reconfigure changes the limits and the fair turn while running: all, or nothing
// with an error. Nobody loses a slot (LH-19) or a place, unless a conductor group
// gets or loses a limit of its own: then its hosts queue anew when they ask.
func (c *Controller) Reconfigure(now time.Time, limits slots.Limits, turns Turns) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.change(func(cfg *Config) { cfg.Slots.Limits, cfg.Turns = limits, turns }); err != nil {
		return err
	}
	c.revision.Add(1)
	c.sizer.fit(now, c.cfg.Slots.Limits, c.cfg.Adaptive)
	if err := c.ledger.SetLimits(now, c.sizer.limits(c.cfg.Slots.Limits)); err != nil {
		return err
	}
	gone, err := c.queues.configure(c.cfg.Turns)
	if err != nil {
		return err
	}
	c.policy.patience = c.cfg.Turns.ClaimWindow
	c.sync(now)
	for _, q := range gone {
		c.queues.retire(now, q)
	}
	c.queues.update(now)
	return nil
}

// FirstPoll is closed after the first complete poll (LH-24).
func (c *Controller) FirstPoll() <-chan struct{} { return c.first }

// Begin implements ironic.View.
func (c *Controller) Begin(now time.Time) ironic.Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Begin(now)
}

// Waits implements ironic.View.
func (c *Controller) Waits(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Waits(now)
}

// Hurries implements ironic.Hurry.
func (c *Controller) Hurries(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queues.waiting() > 0 && c.ledger.Slots(now).Occupied > 0
}

// Left implements ironic.Hurry.
func (c *Controller) Left(now time.Time, rows []ironic.Change) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Left(now, rows)
}

// Whole implements ironic.View.
func (c *Controller) Whole(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Whole(now)
}

// SettlesIn returns how long it is until STARTUP_SETTLE is over: the first yes needs a complete
// poll that begins after that (LH-24). It returns false when it is over.
func (c *Controller) SettlesIn(now time.Time) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.SettlesIn(now)
}

// Missing implements ironic.View.
func (c *Controller) Missing(now time.Time, nodes []ironic.Node) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Missing(now, nodes)
}

// Wanted implements ironic.View.
func (c *Controller) Wanted(now time.Time) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Wanted(now)
}

// Observe implements ironic.View.
func (c *Controller) Observe(now time.Time, observed ironic.Observation) {
	c.update(now, func() {
		c.ledger.Observe(now, observed)
		c.sync(now) // what has ended counts in what follows
		c.polled(now)
		c.size(now)
		c.failure = ""
		select {
		case <-c.first:
		default:
			close(c.first)
		}
	})
	notices, failures := c.takeNotices(now)
	if c.notify != nil && len(notices) > 0 {
		c.notify(notices)
	}
	if c.notifyFailures != nil && len(failures) > 0 {
		c.notifyFailures(failures)
	}
}

// takeNotices returns what has happened since it was called last.
func (c *Controller) takeNotices(now time.Time) ([]slots.Notice, []FailureNotice) {
	var requests uint64
	if c.requests != nil {
		requests = c.requests() // not under the lock: it is somebody else's code
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	notices := c.ledger.Notices()
	if c.requests != nil {
		c.watchGateway(now, requests, notices)
	}
	failures := c.policy.notices
	c.policy.notices = nil
	c.journalSlots(now, notices)
	return notices, failures
}

// ObserveNode takes the answer to a single fetch made outside a poll.
func (c *Controller) ObserveNode(now time.Time, s ironic.NodeObservation) {
	c.update(now, func() { c.ledger.ObserveNode(now, s) })
}

// PollFailed implements ironic.View.
func (c *Controller) PollFailed(now time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.PollFailed(now)
	c.revision.Add(1)
	c.failure = err.Error()
}

// View shows how Ironic was last seen. It is short, whatever waits.
func (c *Controller) View(now time.Time) api.View {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.ledger.View(now)
	v.LastError = c.failure
	return v
}

// Revision grows with every change: two Statuses of one revision differ in nothing but the
// time that has passed. It takes no lock.
func (c *Controller) Revision() uint64 { return c.revision.Load() }

// Status shows everything but the version and the settings, which the caller
// knows.
func (c *Controller) Status(now time.Time) api.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := api.Status{
		Mode: string(c.mode), Now: now,
		View: c.ledger.View(now), Slots: c.ledger.Occupancy(now), Totals: c.ledger.Totals(),
		Asks: c.asks.counts(), Refusals: c.refusals.counts(), Turns: c.turns(now),
	}
	s.View.LastError = c.failure
	s.Breakers, s.Storm = c.breakers(now), c.policy.show()
	s.Sizing = c.sizing(now)
	s.Holds, s.Bypass = c.policy.holdCounts(now), c.bypass.show()
	s.Slots.Total.Waiting = c.queues.waiting()
	for pool, q := range c.queues.by {
		if view, ok := s.Slots.Pools[pool.String()]; ok && pool != (slots.Pool{}) {
			view.Waiting = q.Queued()
			s.Slots.Pools[pool.String()] = view
		}
	}
	s.Headline = c.headline(now, &s)
	return s
}

// tally counts answers by reason.
type tally map[api.Reason]uint64

// counts lists every reason of the closed set, so that a reader never meets a
// series that appears late.
func (t tally) counts() []api.Count {
	out := make([]api.Count, 0, len(api.Reasons()))
	for _, r := range api.Reasons() {
		out = append(out, api.Count{Reason: r, Count: t[r]})
	}
	return out
}
