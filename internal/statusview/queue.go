package statusview

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// QueueRows is how many hosts of each pool's queue are shown, and so how many are worth fetching.
const QueueRows = 20

const tenantRows = 5

// Queue shows who waits as text.
func Queue(q api.Queue) string {
	p := &page{}
	for _, of := range q.Pools {
		if of.Pool == "" || of.Waiting+of.Silent+of.Stopped > 0 {
			text := cmp.Or(counted(of.Waiting, "waiting", of.Stopped, "stopped", of.Silent, "silent for too long"), "no host waits")
			if of.Pool != "" {
				text = of.Pool + ": " + text
			}
			p.fieldf("queue", "%s", text)
		}
	}
	for _, of := range q.Pools {
		p.hosts("PLACE", of, len(of.Hosts))
	}
	return p.String()
}

func titled(header string, q api.PoolQueue) string {
	if q.Pool == "" {
		return header
	}
	return header + " OF " + printable(q.Pool)
}

// tenants are those with the most waiting hosts, where there are several.
func (p *page) tenants(q api.PoolQueue) {
	tenants := slices.DeleteFunc(slices.Clone(q.Tenants), func(t api.TenantQueue) bool { return t.Waiting+t.Holding == 0 })
	if q.Waiting == 0 || len(tenants) < 2 {
		return
	}
	slices.SortStableFunc(tenants, func(a, b api.TenantQueue) int { return cmp.Compare(b.Waiting, a.Waiting) })
	shown := min(len(tenants), tenantRows)
	t := newTable(titled("TENANT", q), "WEIGHT", "SLOTS", "WAITING", "FAILING")
	for _, x := range tenants[:shown] {
		t.row(x.Tenant, fmt.Sprint(x.Weight), fmt.Sprint(x.Holding), fmt.Sprint(x.Waiting), fmt.Sprint(x.Failing))
	}
	p.table(t, len(tenants)+max(0, q.TenantCount-len(q.Tenants))-shown, "tenants", nil)
}

// hosts are the first of a queue.
func (p *page) hosts(header string, q api.PoolQueue, most int) {
	t := newTable(titled(header, q), "HOST", "ERRORS", "TOLD", "WAITED", "EXPECTED")
	shown := q.Hosts[:min(len(q.Hosts), most)]
	for _, h := range shown {
		t.row(nonZero(h.Position), cmp.Or(hostName(h.Name), h.NodeUUID), nonZero(h.Errors), string(h.Reason), age(h.WaitedSeconds),
			h.Expected())
	}
	p.table(t, max(0, cmp.Or(q.Matching, q.Waiting)-len(shown)), "hosts", nil)
}

func nonZero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
