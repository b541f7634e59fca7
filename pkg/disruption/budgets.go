package disruption

import (
	"fmt"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// count is how a pool's hosts stand. A Machine that was deleted is made again later, so what the owner wants and has not
// is missing; what it has and does not want it is about to take away, and chooses which.
func (q *pool) count() {
	stay := 0
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
	missing, surplus := max(0, q.Replicas-len(q.members)), max(0, stay-q.Replicas)
	q.stands.Size = len(q.members) + missing
	q.stands.Busy += missing + surplus
	q.stands.Ready -= surplus
}

// roomFor is what a pool's budgets leave.
func (p *planner) roomFor(q *pool, reason api.PlanReason) budget.Room {
	list := p.c.Budgets
	if len(q.Budgets) > 0 {
		list = q.Budgets
	}
	return list.Room(q.stands, reason, p.now)
}

// within says why not all of these hosts may be disrupted together; "" = they may. replaced: a replacement is Ready
// first, and makes up for one.
func (p *planner) within(set []*host, reason api.PlanReason, replaced bool) string {
	type count struct {
		hosts, ready int
		room         budget.Room
	}
	pools := map[*pool]*count{}
	for _, h := range set {
		q, t := h.pool, pools[h.pool]
		if t == nil {
			t = &count{room: p.roomFor(q, reason)}
			if pools[q] = t; replaced {
				t.ready--
			}
		}
		switch {
		case t.hosts >= q.Replicas:
			return fmt.Sprintf("%s wants %d hosts, and no more can be taken from it", q.name, q.Replicas)
		case t.hosts >= t.room.Hosts:
			return fmt.Sprintf("%s: %d more may be disrupted (budget %s)", q.name, t.room.Hosts, t.room.Why)
		case h.ready() && t.ready >= t.room.Ready:
			return fmt.Sprintf("%s: %d of its Ready hosts would stay (budget ready:%s)", q.name, max(0, q.stands.Ready-t.ready-1), t.room.WhyReady)
		case h.ready():
			t.ready++
		}
		t.hosts++
	}
	return ""
}
