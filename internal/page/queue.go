package page

import (
	"cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// maxTenants are shown of each pool, those with the most hosts that wait.
const maxTenants = 10

// queue shows who waits: by pool, then by lane and tenant, then the first hosts in their order.
func (d *document) queue(v *View) {
	d.put(`<section id="queue" aria-labelledby="h-queue"><h2 id="h-queue">Queue</h2>
`)
	for i := range v.Queue.Pools {
		p := &v.Queue.Pools[i]
		d.put(`<h3>%s</h3><p>%s, %d due; %d stopped; %d silent for too long`,
			poolName(p.Pool), counted(p.Waiting, "host waits", "hosts wait"), p.Due, p.Stopped, p.Silent)
		if p.MeanSlotSeconds > 0 {
			d.put(`; a slot is held for %s on average`, span(p.MeanSlotSeconds))
		}
		open := "shut"
		if p.FailingOpen {
			open = "open"
		}
		d.put(`. Lane of failing hosts: %s, %d of %d slots.</p>
`, open, p.FailingHeld, p.FailingAllowed)
		d.tenants(p)
		d.waiting(p, v.Rows)
	}
	d.put(`</section>
`)
}

func (d *document) tenants(p *api.PoolQueue) {
	if len(p.Tenants) == 0 {
		return
	}
	d.table("Tenants of "+poolName(p.Pool), "tenant", "n weight", "n slots", "n waiting", "n of these failing", "n granted")
	for _, t := range p.Tenants[:min(len(p.Tenants), maxTenants)] {
		d.put(`<tr data-key="%s"><th scope="row">%s</th>`, t.Tenant, cmp.Or(t.Tenant, "(none)"))
		d.numbers(t.Weight, t.Holding, t.Waiting, t.Failing, t.Granted)
		d.put(`</tr>
`)
	}
	d.put(`</tbody></table></div>`)
	if more := p.TenantCount - maxTenants; more > 0 {
		d.put(`<p>and %s</p>`, counted(more, "tenant more", "tenants more"))
	}
}

func (d *document) waiting(p *api.PoolQueue, rows int) {
	if len(p.Hosts) == 0 {
		return
	}
	d.table("Next of "+poolName(p.Pool), "n place", "host", "lane", "turn", "told last", "n errors", "n waited", "n expected in")
	for i := range p.Hosts {
		h := &p.Hosts[i]
		turn := ""
		if h.Due {
			turn = "due"
		}
		expected := "not known yet"
		if h.ExpectSeconds != nil {
			expected = within(h)
		}
		d.put(`<tr data-key="%s">`, h.NodeUUID+" "+h.Name)
		d.numbers(h.Position)
		d.put(`<th scope="row">`)
		d.link(h.Name, h.NodeUUID)
		d.put(`</th><td>%s</td><td>%s</td><td>%s</td>`, h.Lane, turn, string(h.Reason))
		d.numbers(h.Errors, span(h.WaitedSeconds), expected)
		d.put(`</tr>
`)
	}
	d.put(`</tbody></table></div>`)
	more := p.Waiting - len(p.Hosts)
	switch {
	case more <= 0:
	case rows < MoreRows:
		d.put(`<p>and %d more: <a href="/?rows=%d#queue">show the first %d</a></p>`, more, MoreRows, MoreRows)
	default:
		d.put(`<p>and %d more: <code>ironic-throttle queue --namespace NAMESPACE</code> shows those of one namespace;
<a href="/#queue">show the first %d</a></p>`, more, Rows)
	}
}

// numbers writes cells in columns of numbers.
func (d *document) numbers(all ...any) {
	for _, n := range all {
		d.put(`<td class="n">%v</td>`, n)
	}
}

// table begins a table. Columns of numbers begin with "n ".
func (d *document) table(caption string, columns ...string) {
	d.put(`<div class="scroll" tabindex="0" role="group" aria-label="%s"><table><caption>%s</caption><thead><tr>`, caption, caption)
	for _, c := range columns {
		if len(c) > 1 && c[:2] == "n " {
			d.put(`<th scope="col" class="n">%s</th>`, c[2:])
		} else {
			d.put(`<th scope="col">%s</th>`, c)
		}
	}
	d.put(`</tr></thead><tbody>
`)
}
