package disruption

import (
	"fmt"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

type roomKey struct {
	pool   *pool
	reason api.PlanReason
}

// roomFor is what a pool's budgets leave.
func (p *planner) roomFor(q *pool, reason api.PlanReason) budget.Room {
	key := roomKey{q, reason}
	r, ok := p.rooms[key]
	if !ok {
		list := p.c.Budgets
		if len(q.Policy.Budgets) > 0 {
			list = q.Policy.Budgets
		}
		r = list.Room(q.stands, reason, p.now)
		p.rooms[key] = r
	}
	return r
}

// count is how a pool's hosts stand. A Machine that was deleted is made again later, so what the owner wants and has not
// is missing; what it has and does not want it is about to take away, and chooses which.
func (q *pool) count() {
	wanted, stay := len(q.members), 0
	if q.name != "" {
		wanted = q.Replicas
	}
	for _, h := range q.members {
		switch {
		case h.disrupting():
			q.stands.Busy++
		case h.ready():
			stay++
			q.stands.Ready++
		default:
			stay++
			q.stands.Busy++
		}
	}
	missing, surplus := max(0, wanted-len(q.members)), max(0, stay-wanted)
	q.stands.Size = len(q.members) + missing
	q.stands.Busy += missing + surplus
	q.stands.Ready -= surplus
}

// ledger counts hosts that a plan takes, against the budgets of their pools.
type ledger struct {
	p        *planner
	replaced bool // a replacement is Ready first, and makes up for one
	of       map[*pool]*taken
}

// taken is what a plan takes of one pool.
type taken struct {
	hosts, ready int
	reasons      []api.PlanReason
}

func (p *planner) newLedger(replaced bool) *ledger {
	return &ledger{p: p, replaced: replaced, of: map[*pool]*taken{}}
}

// add takes one more host, or says why it cannot be disrupted too.
func (l *ledger) add(h *host, reason api.PlanReason) string {
	if why := l.why(h, reason); why != "" {
		return why
	}
	t := l.of[h.pool]
	if t == nil {
		t = &taken{}
		l.of[h.pool] = t
	}
	if t.hosts++; h.ready() {
		t.ready++
	}
	if !slices.Contains(t.reasons, reason) {
		t.reasons = append(t.reasons, reason)
	}
	return ""
}

// why says why one more host cannot be disrupted; "" = it can.
func (l *ledger) why(h *host, reason api.PlanReason) string {
	q, t := h.pool, taken{}
	if l.of[q] != nil {
		t = *l.of[q]
	}
	if q.name != "" && t.hosts >= q.Replicas {
		return fmt.Sprintf("%s wants %d hosts, and no more can be taken from it", q.title(), q.Replicas)
	}
	for _, r := range append(slices.Clip(t.reasons), reason) {
		room := l.p.roomFor(q, r)
		if t.hosts >= room.Hosts {
			return fmt.Sprintf("%s: %d more may be disrupted (budget %s)", q.title(), room.Hosts, room.Why)
		}
		if why := l.unready(h, t.ready, room); why != "" {
			return why
		}
	}
	return ""
}

// unready says that too few Ready hosts would stay in the pool; "" = enough would.
func (l *ledger) unready(h *host, gone int, room budget.Room) string {
	if !h.ready() {
		return ""
	}
	if l.replaced {
		gone--
	}
	if gone < room.Ready {
		return ""
	}
	return fmt.Sprintf("%s: %d of its Ready hosts would stay (budget ready:%s)", h.pool.title(), max(0, h.pool.stands.Ready-gone-1), room.WhyReady)
}

// within says why not all of these hosts may be disrupted together; "" = they may.
func (p *planner) within(hosts []*host, reason func(*host) api.PlanReason, replaced bool) string {
	l := p.newLedger(replaced)
	for _, h := range hosts {
		if why := l.add(h, reason(h)); why != "" {
			return why
		}
	}
	return ""
}

func (q *pool) title() string {
	if q.name == "" {
		return "hosts of no pool"
	}
	return q.name
}

// budgetFaults are budgets that cannot be read: nothing is disrupted then.
func budgetFaults(where string, budgets budget.List) []string {
	var all []string
	for _, b := range budgets {
		if err := b.Check(); err != nil {
			all = append(all, where+": a budget "+err.Error())
		}
	}
	return all
}
