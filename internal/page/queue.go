package page

import (
	"cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// queue shows who waits: the first hosts of each pool in their order.
func (d *document) queue(v *View) {
	d.section("queue", "Queue")
	for i := range v.Queue.Pools {
		p := &v.Queue.Pools[i]
		d.put(`<h3>%s</h3><p>%d waiting, %d of them due; %d stopped; %d silent for too long. Failing hosts hold %d of at most %d slots.</p>
`, cmp.Or(p.Pool, "All hosts"), p.Waiting, p.Due, p.Stopped, p.Silent, p.FailingHeld, p.FailingAllowed)
		d.waiting(p)
	}
	d.put(`</section>
`)
}

func (d *document) waiting(p *api.PoolQueue) {
	d.table("Next of "+cmp.Or(p.Pool, "all hosts"), "n place, host, lane, told last, n errors, n waited, n expected", len(p.Hosts), func(i int) {
		h := &p.Hosts[i]
		d.put(`<tr data-key="%s">`, h.NodeUUID+" "+h.Name)
		d.numbers(h.Position)
		d.put(`<th scope="row">`)
		d.link(h.Name, h.NodeUUID)
		d.put(`</th><td>%s</td><td>%s</td>`, h.Lane, h.Reason)
		d.numbers(h.Errors, api.Seconds(h.WaitedSeconds), h.Expected())
	})
	if more := p.Waiting - len(p.Hosts); more > 0 {
		d.put(`<p>and %d more: <code>ironic-throttle queue --namespace NAMESPACE</code> shows those of one namespace</p>`, more)
	}
}
