package soak

// breaks are edits each of which takes one thing away that the product promises, and that the histories show. What two
// rules hold each for itself, or what hosts meet once in thousands of histories, is held by tables and laws beside the
// code: a failed host's slot, a node that is made again under its name, two records of one host, nodes that stand
// still, who is silent, an observation that comes after a newer one.
var breaks = []struct{ what, file, old, new string }{
	{
		"one slot more than the limit is given", "pkg/slots/pool.go",
		"s.Free = max(0, s.Limit-s.Occupied)", "s.Free = max(0, s.Limit+1-s.Occupied)",
	},
	{
		"a lease that was not used yet ends long before its time", "pkg/slots/observe.go",
		"case s.Phase == Leased && at.Sub(s.yesAt) >= l.cfg.LeaseTTL:", "case s.Phase == Leased && at.Sub(s.yesAt) >= l.cfg.LeaseTTL/8:",
	},
	{
		"a PUT in flight keeps no slot", "pkg/slots/observe.go",
		"case s.flying > 0 || h.Seen.Seq <= h.yesSeq:", "case h.Seen.Seq <= h.yesSeq:",
	},
	{
		"a PUT that broke counts as never sent", "pkg/slots/put.go",
		"\t\th.yesSeq, s.unsure = l.seq, l.now\n", "\t\tl.refuse(h, s, put)\n",
	},
	{
		"a slot ends whenever its node rests", "pkg/slots/observe.go",
		"at.Sub(s.idleAt) >= l.cfg.Linger && l.usedUp(h):", "true:",
	},
	{
		"a slot between two phases ends though its host was told yes just now", "pkg/slots/observe.go",
		"at.Sub(s.idleAt) >= l.cfg.Linger && l.usedUp(h):", "at.Sub(s.idleAt) >= l.cfg.Linger:",
	},
	{
		"the slot of a host whose work has failed ends though it was told yes since", "pkg/slots/observe.go",
		"failed && s.busySeq > s.checkSeq,", "failed,",
	},
	{
		"nobody waits for what becomes of a PUT that broke", "pkg/slots/observe.go",
		"case h.Seen.At.Sub(s.unsure) < l.cfg.Settle:", "case false:",
	},
	{
		"who begins to lead does not wait for what the one before has let start", "pkg/slots/observe.go",
		"o.Whole && o.Mark.At.Sub(l.start) >= l.cfg.Settle", "o.Whole",
	},
	{
		"who begins to lead adopts nobody", "pkg/slots/observe.go",
		"s, starting := h.Slot, !l.settled\n", "s, starting := h.Slot, false\n",
	},
	{
		"a node that has left Ironic keeps its slot", "pkg/slots/observe.go",
		"h.missing >= 2 &&", "h.missing >= 255 &&",
	},
	{
		"a view that is too old lets new hosts start", "pkg/slots/poll.go",
		"case l.polls > 0 && l.now.Sub(l.takenAt) > min(", "case l.polls > 0 && l.now.Sub(l.takenAt) > 100*min(",
	},
	{
		"a limit that is lowered counts for nothing", "pkg/slots/ledger.go",
		"\tl.cfg, l.counts = cfg, nil\n", "\tcfg.Total = max(cfg.Total, l.cfg.Total)\n\tl.cfg, l.counts = cfg, nil\n",
	},
	{
		"the limit of a conductor group counts for nothing", "pkg/slots/pool.go",
		"\t\t\tpool.Group = h.Group\n", "",
	},
	{
		"hosts of a conductor group with a limit do not count in the total", "pkg/slots/pool.go",
		"\t\t\t\t\tadd(Pool{}, 1, leased, 0)\n", "",
	},
	{
		"a conductor group gives slots that the total does not have", "pkg/slots/pool.go",
		"s.Free = min(s.Free, max(0, l.cfg.Total-l.counts[Pool{}].Occupied))", "s.Free = max(s.Free, 0)",
	},
	{
		"hosts of virtual media are not counted in their pool", "pkg/slots/pool.go",
		"\t\t\tcase h.counts():\n", "\t\t\tcase h.counts() && !h.Pool.VirtualMedia:\n",
	},
	{
		"a node in a service or hold state is taken for one that rests", "pkg/slots/observe.go",
		"busy := n.State.Busy() || n.State.Extra()\n\tswitch {", "busy := n.State.Busy()\n\tswitch {",
	},
	{
		"a host that is held may start", "pkg/admission/decide.go",
		"case f.hold.Held:\n\t\treturn", "case f.hold.Held && f.Deleting:\n\t\treturn",
	},
	{
		"a hold ends before its time", "pkg/holdoff/book.go",
		"return max(b.cfg.hold(h.name, h.failures)-max(", "return max(b.cfg.hold(h.name, h.failures)/2-max(",
	},
	{
		"the holds of the process before are not read", "pkg/holdoff/save.go",
		"range records {\n\t\tif r.check", "range records[:0] {\n\t\tif r.check",
	},
	{
		"a save leaves a hold out and counts it as saved", "pkg/holdoff/save.go",
		"for _, h := range b.hosts {\n\t\trecords", "for _, h := range b.hosts {\n\t\tif h.failures == 1 {\n\t\t\tcontinue\n\t\t}\n\t\trecords",
	},
	{
		"a leader that was cut off goes on", "internal/kube/lead/fence.go",
		"return age >= 0 && age < f.lasts", "return age >= 0",
	},
	{
		"planned work waits for nobody", "pkg/admission/planned.go",
		"c.demand(now, h); n > 0 {", "c.demand(now, h); n < 0 {",
	},
	{
		"a slot that ends keeps its permit of the breakers", "pkg/admission/follow.go",
		"s *slots.Slot, how slots.How) {\n\tf.c.policy.cancel(now, h)\n", "s *slots.Slot, how slots.How) {\n",
	},
	{
		"an open breaker lets hosts start", "pkg/admission/failures.go",
		"\terrors.As(err, &f.open)\n", "",
	},
	{
		"a breaker lets any number of probes start", "pkg/breaker/circuit.go",
		"if c.state == HalfOpen && len(c.probes) >= c.cfg.HalfOpenMaxRequests {", "if false {",
	},
	{
		"a breaker never closes", "pkg/breaker/set.go",
		"case (probed || p != nil && p.probe) && !o.failed && (c.kind == o.kind || c.kind == \"\" && !o.step):", "case false:",
	},
	{
		"starts are not counted in the rate", "pkg/breaker/set.go",
		"\t\t\tc.starts = append(c.starts, s.now)\n", "",
	},
	{
		"the cap of failing hosts counts for nothing", "pkg/fairshare/limit.go",
		"return l.failing >= l.cap && l.free <= l.healthy", "return false",
	},
	{
		"any host that asks may take a free slot", "pkg/fairshare/turn.go",
		"\tif steps < strictSteps {\n\t\treturn false", "\tif steps < strictSteps {\n\t\treturn true",
	},
	{
		"a tenant that gets slots comes first again", "pkg/fairshare/turn.go",
		"t.f, t.late = t.f+pay, ", "t.f, t.late = t.f-pay, ",
	},
}
