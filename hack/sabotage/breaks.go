package main

// breaks are edits each of which takes one thing away that the product promises.
var breaks = []struct{ what, file, old, new string }{
	{
		"one slot more than the limit is given", "pkg/slots/check.go",
		"v.Free = l.free(v.pool.Pool)", "v.Free = l.free(v.pool.Pool) + 1",
	},
	{
		"a lease that was not used yet ends long before its time", "pkg/slots/slot.go",
		"passed(h.yesAt, h.observed.mark.at, ttl)", "passed(h.yesAt, h.observed.mark.at, ttl/8)",
	},
	{
		"a PUT in flight keeps no slot", "pkg/slots/observe.go",
		"case h.puts.inFlight > 0 || mark.seq <= h.yesSeq:", "case mark.seq <= h.yesSeq:",
	},
	{
		"a PUT that broke counts as never sent", "pkg/slots/put.go",
		"\tp.unknown++\n", "",
	},
	{
		"a slot ends whenever its node rests", "pkg/slots/slot.go",
		"return passed(h.idleAt, h.observed.mark.at, linger) && h.yesUsedUp(linger)", "return true",
	},
	{
		"who begins to lead does not wait for what the one before has let start", "pkg/slots/view.go",
		"if !o.Unchanged && passed(started, mark.at, settle) {", "if !o.Unchanged {",
	},
	{
		"who begins to lead adopts nobody", "pkg/slots/observe.go",
		"adopting := !l.view.settled || !passed(started, h.observed.mark.at, l.cfg.LeaseTTL)", "adopting := false",
	},
	{
		"a node that has left Ironic keeps its slot", "pkg/slots/observe.go",
		"case h.notFound < 2:", "case h.notFound < 1<<30:",
	},
	{
		"a limit that is lowered counts for nothing", "pkg/slots/ledger.go",
		"\tl.cfg.Limits = limits\n", "\tlimits.Total = max(limits.Total, l.cfg.Limits.Total)\n\tl.cfg.Limits = limits\n",
	},
	{
		"a host that is held may start", "pkg/admission/evaluate.go",
		"case s.hold.Held:", "case s.hold.Held && s.ask.Deleting:",
	},
	{
		"the limit of a conductor group counts for nothing", "pkg/slots/pools.go",
		"if p.Group != \"\" {\n\t\tfree =", "if p.Group == \"-\" {\n\t\tfree =",
	},
	{
		"hosts of virtual media are not counted in their pool", "pkg/slots/pools.go",
		"\t\ts.virtual.add(h, sign)\n", "",
	},
	{
		"a leader that was cut off goes on", "internal/kube/leader/fence/fence.go",
		"return age >= 0 && age < f.lasts", "return age >= 0",
	},
	{
		"the holds of the process before are not read", "pkg/holdoff/save.go",
		"for _, r := range records {\n\t\tif b.hosts", "for _, r := range records[:0] {\n\t\tif b.hosts",
	},
	{
		"planned work waits for nobody", "pkg/admission/planned.go",
		"n > 0 {\n\t\treturn &yields{", "n < 0 {\n\t\treturn &yields{",
	},
	{
		"a slot that ends keeps its permit of the breakers", "pkg/admission/sync.go",
		"uint8(change.End))\n\t\th.cancelPermit(now)\n\t\th.queue.Release", "uint8(change.End))\n\t\th.queue.Release",
	},
	{
		"a host that was parked never gets its place back", "pkg/fairshare/ask.go",
		"case h.state == Called || h.state == Waiting && old:", "case h.state == Called || h.state == Waiting && old || h.state == Parked && old:",
	},
	{
		"a node in a service or hold state is taken for one that rests", "pkg/slots/observe.go",
		"atWork := n.State.Busy() || n.State.Extra()\n\tswitch {", "atWork := n.State.Busy()\n\tswitch {",
	},
}
