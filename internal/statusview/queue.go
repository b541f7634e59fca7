package statusview

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// QueueRows is how many hosts of each pool's queue are shown, and so how many are
// worth fetching.
const QueueRows = 20

// Queue shows who waits as text.
func Queue(q api.Queue, width int) string {
	p := &page{width: width}
	for _, of := range q.Pools {
		if of.Pool == "" || of.Waiting+of.Silent+of.Stopped > 0 {
			p.queue(of)
		}
	}
	for _, of := range q.Pools {
		p.hosts(of, len(of.Hosts))
	}
	return p.String()
}

// queue says how long the queue of a pool is.
func (p *page) queue(q api.PoolQueue) {
	text := counted(q.Waiting, "waiting", q.Stopped, "stopped", q.Silent, "silent for too long")
	if text == "" {
		text = "nobody waits"
	}
	if q.Pool != "" {
		text = q.Pool + ": " + text
	}
	p.fieldf("queue", "%s", text)
}

func titleOf(q api.PoolQueue) string {
	if q.Pool == "" {
		return ""
	}
	return " OF " + printable(q.Pool)
}

// tenants are those with the most waiting hosts, where there are several.
func (p *page) tenants(q api.PoolQueue) {
	tenants := slices.SortedStableFunc(slices.Values(q.Tenants), func(a, b api.TenantQueue) int {
		return cmp.Compare(b.Waiting, a.Waiting)
	})
	tenants = slices.DeleteFunc(tenants, func(t api.TenantQueue) bool { return t.Waiting+t.Holding == 0 })
	if q.Waiting == 0 || len(tenants) < 2 {
		return
	}
	shown := min(len(tenants), tenantRows)
	t := newTable("TENANT"+titleOf(q), "WEIGHT", "SLOTS", "WAITING", "FAILING")
	for _, x := range tenants[:shown] {
		t.row(x.Tenant, fmt.Sprint(x.Weight), fmt.Sprint(x.Holding), fmt.Sprint(x.Waiting), fmt.Sprint(x.Failing))
	}
	p.table(t, len(tenants)+max(0, q.TenantCount-len(q.Tenants))-shown, "tenants", nil)
}

// hosts are the first of a queue.
func (p *page) hosts(q api.PoolQueue, most int) {
	t := newTable("PLACE"+titleOf(q), "HOST", "ERRORS", "TOLD", "WAITED", "EXPECTED")
	t.spare = []string{"ERRORS"}
	shown := q.Hosts[:min(len(q.Hosts), most)]
	for _, h := range shown {
		place := ""
		if h.Position > 0 {
			place = fmt.Sprint(h.Position)
		}
		t.row(place, cmp.Or(hostName(h.Name), h.NodeUUID), fmt.Sprint(h.Errors), string(h.Reason), age(h.WaitedSeconds), expected(h))
	}
	p.table(t, max(0, cmp.Or(q.Matching, q.Waiting)-len(shown)), "hosts", nil)
}

// expected says when h may have its turn: half of such hosts and nine of ten.
func expected(h api.QueuedHost) string {
	if h.Position == 0 {
		return ""
	}
	if h.ExpectSeconds == nil {
		return "not known yet"
	}
	text := "in " + age(*h.ExpectSeconds)
	if h.AtMostSeconds != nil && *h.AtMostSeconds > *h.ExpectSeconds {
		text += " to " + age(*h.AtMostSeconds)
	}
	return text
}
