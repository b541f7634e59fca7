package statusview

import (
	"cmp"
	"fmt"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// QueueRows is how many hosts of each pool's queue the commands fetch and show.
const QueueRows = 20

// Queue returns a queue as text.
func Queue(q api.Queue) string {
	p := &page{}
	for _, pool := range q.Pools {
		if pool.Pool == "" || pool.Waiting+pool.Silent+pool.Stopped > 0 {
			text := cmp.Or(counted(pool.Waiting, "waiting", pool.Stopped, "stopped", pool.Silent, "silent for too long"), "no host waits")
			if pool.Pool != "" {
				text = pool.Pool + ": " + text
			}
			p.fieldf("queue", "%s", text)
		}
	}
	for _, pool := range q.Pools {
		p.hosts("PLACE", pool, len(pool.Hosts))
	}
	return p.String()
}

// hosts adds a table of the first hosts of a queue.
func (p *page) hosts(header string, q api.PoolQueue, most int) {
	if q.Pool != "" {
		header += " OF " + printable(q.Pool)
	}
	t := newTable(header, "HOST", "ERRORS", "TOLD", "WAITED", "EXPECTED")
	shown := q.Hosts[:min(len(q.Hosts), most)]
	for _, h := range shown {
		t.row(nonZero(h.Position), cmp.Or(hostName(h.Name), h.NodeUUID), nonZero(h.Errors), string(h.Reason),
			api.Seconds(h.WaitedSeconds), h.Expected())
	}
	p.table(t, max(0, cmp.Or(q.Matching, q.Waiting)-len(shown)), "hosts")
}

func nonZero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
