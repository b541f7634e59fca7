package statusview

import (
	"cmp"
	"fmt"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// QueueRows is how many hosts of each pool's queue are shown, and so how many are worth fetching.
const QueueRows = 20

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

// hosts are the first of a queue.
func (p *page) hosts(header string, q api.PoolQueue, most int) {
	if q.Pool != "" {
		header += " OF " + printable(q.Pool)
	}
	t := newTable(header, "HOST", "ERRORS", "TOLD", "WAITED", "EXPECTED")
	shown := q.Hosts[:min(len(q.Hosts), most)]
	for _, h := range shown {
		t.row(nonZero(h.Position), cmp.Or(hostName(h.Name), h.NodeUUID), nonZero(h.Errors), string(h.Reason), api.Seconds(h.WaitedSeconds),
			h.Expected())
	}
	p.table(t, max(0, cmp.Or(q.Matching, q.Waiting)-len(shown)), "hosts")
}

func nonZero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
