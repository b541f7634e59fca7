package admission

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Controller decides which hosts may start, and is an ironic.View. Its methods are safe for concurrent use.
type Controller struct {
	notify         func([]slots.Notice)
	notifyFailures func([]FailureNotice)
	first          chan struct{} // closed after the first complete poll
	polled         sync.Once
	revision       atomic.Uint64 // grows with each change

	mu  sync.Mutex // guards what follows
	cfg Config     // in force; Leading is never nil
	term

	asks, refusals tally          // answers; refusals: what enforce would have refused in mode observe
	notices        []slots.Notice // since the last poll
	failure        string         // the error of the last poll, "" if it succeeded
	lastAsk        time.Time      // when the last ask of any host came; zero: none did
	boots          sizing.Times
	named          map[string]bool // the tenants that metrics name: see showTurns
}

// term is what the Controller knows while it leads: each time that it begins to lead, it starts with a new one.
type term struct {
	ledger   *slots.Ledger
	order    *fairshare.Order
	policy   *policy
	limiters sizing.Pools
}

var _ ironic.View = (*Controller)(nil)

// New returns a Controller that starts now, or an error with the faults of cfg.
func New(cfg Config, now time.Time) (*Controller, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Controller{
		notify: cfg.Notify, notifyFailures: cfg.NotifyFailures, first: make(chan struct{}),
		cfg: cfg.settings(), asks: tally{}, refusals: tally{}, boots: sizing.Times{}, named: map[string]bool{},
	}
	if cfg.Leading == nil {
		c.cfg.Leading = func() bool { return true }
	}
	var err error
	c.term, err = c.newTerm(now, nil, sizing.State{})
	return c, err
}

// newTerm returns a term with the holds and limits that a store kept, and without other hosts.
func (c *Controller) newTerm(now time.Time, holds []holdoff.Record, learned sizing.State) (t term, err error) {
	cfg := c.cfg
	t.limiters = sizing.Pools{}
	fit(now, t.limiters, cfg)
	t.limiters.Restore(now, learned)
	cfg.Slots.Limits = inForce(t.limiters, cfg.Slots.Limits)
	if t.ledger, err = slots.New(cfg.Slots, now, follow{c}); err != nil {
		return term{}, err
	}
	if t.policy, err = newPolicy(c, cfg); err != nil {
		return term{}, err
	}
	t.policy.book.Restore(now, holds)
	for _, e := range t.policy.book.View(now) {
		if e.Held { // its conductor group counts it, and it may have an instance by now
			t.ledger.Expect(slots.ID{UUID: e.UUID, Name: e.Name})
		}
	}
	t.order = fairshare.New(cfg.Weights, t.ledger)
	return t, nil
}

// Start begins a new term, with the settings in force, and the holds and limits that a store kept. Call it when the
// process begins to lead. Asks that it answered before leave no trace.
func (c *Controller) Start(now time.Time, holds []holdoff.Record, learned sizing.State) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := c.newTerm(now, holds, learned)
	if err != nil {
		return err
	}
	c.revision.Add(1)
	t.ledger.Follow(c.ledger)
	t.order.Waits = c.order.Waits
	c.term = t
	return nil
}

// Reconfigure changes Mode, Slots, Weights, Holdoff, MaxFailed and, if there are breakers, their numbers. If to has a
// fault, it returns an error and changes nothing. No host loses a slot, a place or a permit.
func (c *Controller) Reconfigure(now time.Time, to Config) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	cfg := c.cfg
	cfg.Mode, cfg.Slots, cfg.Weights, cfg.Holdoff, cfg.MaxFailed = to.Mode, to.Slots, to.Weights, to.Holdoff, to.MaxFailed
	if cfg.Breakers != nil && to.Breakers != nil {
		cfg.Breakers = to.Breakers
	}
	if err := cfg.Validate(); err != nil {
		return err
	}
	c.cfg = cfg.settings()
	c.revision.Add(1)
	if err := c.policy.configure(c.cfg); err != nil {
		return err
	}
	fit(now, c.limiters, c.cfg)
	return c.resize(now)
}

// resize puts the limits in force that the Limiters allow.
func (c *Controller) resize(now time.Time) error {
	cfg := c.cfg.Slots
	cfg.Limits = inForce(c.limiters, cfg.Limits)
	err := c.ledger.Configure(now, cfg)
	c.order.Configure(c.cfg.Weights)
	return err
}

// Revision returns a number that grows with every change: two Statuses of one revision differ only by the time that has
// passed. It takes no lock.
func (c *Controller) Revision() uint64 { return c.revision.Load() }

// tally counts answers by reason.
type tally map[api.Reason]uint64

// counts returns the count of every reason, also of those that no answer had.
func (t tally) counts() []api.Count {
	out := make([]api.Count, 0, len(api.Reasons()))
	for _, r := range api.Reasons() {
		out = append(out, api.Count{Reason: r, Count: t[r]})
	}
	return out
}

// hostID returns the ID of a host: namespace~name, as BMO names nodes, and uuid, in Ironic's spelling.
func hostID(namespace, name, uuid string) slots.ID {
	id := slots.ID{UUID: uuid, Name: name}
	if namespace != "" && name != "" {
		id.Name = namespace + "~" + name
	}
	return id
}
