package disruption

import (
	"fmt"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// count counts how the pool's hosts stand. If the pool has fewer Machines than replicas, its owner makes the missing
// ones later. If it has more, the owner will delete the surplus, and nobody knows which.
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

// roomFor returns how many hosts the pool's budgets still let go.
func (p *planner) roomFor(q *pool, reason api.PlanReason) budget.Room {
	list := p.c.Budgets
	if len(q.Budgets) > 0 {
		list = q.Budgets
	}
	return list.Room(q.stands, reason, p.now)
}

// within returns why budgets do not let all of these hosts go together; "": they do. replaced: a replacement is Ready
// before a host goes, and makes up for one.
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
			return fmt.Sprintf("%s: %d of its Ready hosts would stay (budget ready:%s)",
				q.name, max(0, q.stands.Ready-t.ready-1), t.room.WhyReady)
		case h.ready():
			t.ready++
		}
		t.hosts++
	}
	return ""
}
