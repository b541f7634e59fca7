package admission

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// retryPlanned is the advice to planned work that yields: nobody knows when nobody waits.
const retryPlanned = time.Minute

// yields is what planned work has to wait for (DC-24, DC-25, DC-26).
type yields struct {
	to      yieldsTo
	waiting int    // other hosts, with toHosts
	host    string // one of them, of the same namespace; "": there is none

	// With toCap and toReserve, of one limit:
	pool                      slots.Pool
	limit, free, held, amount int // amount: the cap, or the reserve
}

type yieldsTo uint8

const (
	toBreaker yieldsTo = iota // some breaker is not CLOSED
	toPause                   // a conductor group is paused
	toHosts                   // others wait, are called, parked or held
	toCap                     // planned work holds as many slots as it may
	toReserve                 // too few slots are free
)

// message says what the work waits for. An Event shows it to the owner of the namespace: it names no
// other host, but those of the namespace.
func (y *yields) message() string {
	where := ""
	if y.pool != (slots.Pool{}) {
		where = " of " + y.pool.String()
	}
	switch y.to {
	case toBreaker:
		return "planned work starts while every circuit breaker is CLOSED, and one is not"
	case toPause:
		return "planned work starts while no conductor group is paused, and one is"
	case toCap:
		return fmt.Sprintf("planned work holds %d of %d slots%s and may hold %d", y.held, y.limit, where, y.amount)
	case toReserve:
		return fmt.Sprintf("planned work starts when it leaves %d of %d slots%s free, and %d are free now", y.amount, y.limit, where, y.free)
	}
	text := fmt.Sprintf("planned work starts when nobody else wants the slots, and now %s", number(y.waiting, "host does", "hosts do"))
	if y.host != "" {
		text += ", one of them is " + y.host
	}
	return text
}

// surveyPlanned fills in how planned work stands. No queue is asked: it starts when all are empty.
func (c *core) surveyPlanned(now time.Time, s *situation) {
	s.yields = c.yields(now, s)
	s.answer, s.enqueued = fairshare.Answer{Yes: s.yields == nil}, true
}

// yields returns what planned work has to wait for; nil: nothing.
func (c *core) yields(now time.Time, s *situation) *yields {
	if len(c.policy.recovering) > 0 {
		return &yields{to: toBreaker}
	}
	for _, p := range c.policy.pools {
		if p.paused {
			return &yields{to: toPause}
		}
	}
	q := c.queues.of(&s.ledger)
	if n, host := c.demand(now, s, q); n > 0 {
		return &yields{to: toHosts, waiting: n, host: host}
	}
	limits := []slots.Pool{q.pool}
	if q.pool.Group != "" {
		limits = append(limits, slots.Pool{})
	}
	for _, pool := range limits {
		y := yields{pool: pool, limit: c.ledger.Limit(pool), free: c.ledger.Free(now, pool), held: c.queues.planned(pool)}
		reserve, most := fairshare.PlannedReserve(y.limit), fairshare.PlannedMost(y.limit)
		switch {
		case y.held >= most:
			y.to, y.amount = toCap, most
			return &y
		case y.free < 1+reserve:
			y.to, y.amount = toReserve, reserve
			return &y
		}
	}
	return nil
}

// demand counts the hosts other than that of s that want a slot for which the hosts of q compete, and
// names one of its namespace, if it waits. Hosts that are parked count too, as they may come back for
// their place, and so do those that are held, of whatever pool: their time comes.
func (c *core) demand(now time.Time, s *situation, q *queue) (n int, name string) {
	var own *fairshare.Host
	h := s.host
	if h != nil {
		own = &h.place
	}
	for _, pool := range c.ledger.Pools() {
		o := c.queues.by[pool]
		if o != q && c.queues.apart(pool, q.pool) {
			continue
		}
		n += o.Wanted()
		if h != nil && h.queue == o && h.keepsPlace() {
			n--
		}
		if first := o.FirstOf(tenant(s.ledger.ID()), own); first != nil && name == "" {
			if f, ok := first.Owner.(*host); ok {
				id := f.ID()
				name = strings.Replace(cmp.Or(id.Name, id.UUID), "~", "/", 1)
			}
		}
	}
	if !q.pool.VirtualMedia || !c.queues.apart(q.pool, slots.Pool{}) {
		n += len(c.queues.uprooted)
		if _, own := c.queues.uprooted[h]; own {
			n--
		}
	}
	if c.policy.book.Idle() {
		return n, name
	}
	_, held := c.policy.book.Count(now, func(uuid string) bool {
		ref, known := c.ledger.Find(slots.ID{UUID: uuid})
		if !known || hostOf(ref) == nil {
			return !c.plansNode(uuid)
		}
		f := hostOf(ref)
		return f != h && !f.keepsPlace() && !c.plans(f) // those with a place are counted
	})
	return n + held, name
}

// keepsPlace reports whether the host waits or is parked.
func (h *host) keepsPlace() bool {
	s := h.place.State()
	return h.queue != nil && s != fairshare.Absent && s != fairshare.Holding
}

// standsAside reports whether the host was told last that its planned work yields.
func (h *host) standsAside() bool {
	return h.queue == nil && h.history.lastReason() == api.ReasonPlannedYields
}

// apart reports whether hosts of the two pools compete for nothing.
func (qs *queues) apart(a, b slots.Pool) bool {
	return a.VirtualMedia != b.VirtualMedia && qs.policy.rate == 0
}

// planned is how many slots of a limit planned work holds.
func (qs *queues) planned(pool slots.Pool) (n int) {
	if pool != (slots.Pool{}) {
		return qs.by[pool].HeldPlanned()
	}
	for p, q := range qs.by {
		if !p.VirtualMedia {
			n += q.HeldPlanned()
		}
	}
	return n
}

// standAside notes the ask of a host whose work is planned. It stands in no queue; if it did, as its
// work was not planned before, it leaves.
func (c *core) standAside(now time.Time, s *situation, ref slots.Ref) {
	c.dequeue(now, &s.ledger)
	s.host = c.host(ref)
	s.host.record(now.Sub(c.policy.born), &s.ask, s.ledger.Put())
	if c.alone.asks(now) {
		c.queues.suspend(now, func(slots.Facts) bool { return true })
	}
}

// alone notes for how long planned work asks and nobody else does.
type alone struct{ since, last time.Time }

// Whoever waits and has not asked for aloneFor, while planned work did, is gone: its node was made anew under
// its name, say. The clock of silence stands still meanwhile, as planned work changes nobody's turn.
// A longer gap between asks than aloneGap may be an operator that was away, and begins anew.
const (
	aloneFor = time.Hour
	aloneGap = 10 * time.Minute
)

// asks notes an ask of planned work, and reports whether there were no others for aloneFor.
func (a *alone) asks(now time.Time) bool {
	if a.since.IsZero() || now.Sub(a.last) > aloneGap {
		a.since = now
	}
	a.last = now
	return now.Sub(a.since) >= aloneFor
}

// takePlanned gives the planned work of s its slot in the queue of its pool.
func (c *core) takePlanned(now time.Time, s *situation) {
	h, q := s.host, c.queues.of(&s.ledger)
	if q.AskPlanned(now, s.ledger.Free, &h.place, 1) {
		h.queue = q
	}
	h.permit = c.policy.permit(now, h.Facts(), s.deletion)
}

// plans reports whether the next work of h is planned, as its last ask or its BareMetalHost says.
func (c *core) plans(h *host) bool {
	if h.planned {
		return true
	}
	id := h.ID()
	namespace, name, ok := strings.Cut(id.Name, "~")
	if !ok {
		return id.UUID != "" && c.plansNode(id.UUID)
	}
	return c.plansHost(api.Ask{Namespace: namespace, Name: name, NodeUUID: id.UUID, UID: h.uid})
}

// plansNode is plans for a node that nobody has asked about.
func (c *core) plansNode(uuid string) bool { return c.plansHost(api.Ask{NodeUUID: uuid}) }

func (c *core) plansHost(of api.Ask) bool {
	if c.hosts == nil {
		return false
	}
	h, ok := c.hosts.Host(of.Namespace, of.Name, of.NodeUUID)
	return ok && h.Planned && !h.another(of)
}
