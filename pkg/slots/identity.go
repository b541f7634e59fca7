package slots

import "github.com/ironic-throttle/ironic-throttle/pkg/ironic"

// admit returns the host that id means and makes one where there is none. The
// host takes the UUID and name of id.
func (l *Ledger) admit(id ID, byIronic bool) *host {
	h := l.find(id)
	if h == nil {
		h = newHost()
	}
	l.learn(h, id, byIronic)
	return h
}

// learn lists h under id, and merges into it the host that turns out to be the same one.
func (l *Ledger) learn(h *host, id ID, byIronic bool) {
	if same := l.enter(h, id, byIronic); same != nil {
		l.merge(same, h)
	}
}

// merge moves what a host known by name only has into h, the same host by UUID. If both
// hold a slot, one remains.
func (l *Ledger) merge(from, h *host) {
	l.change(from, func() {
		l.change(h, func() {
			switch {
			case !h.holds():
				h.slot = from.slot
			case from.holds():
				h.checked, h.checkAt = h.checked || from.checked, max(h.checkAt, from.checkAt)
				h.renewed = max(h.renewed, from.renewed)
				h.nameOnly = h.nameOnly || from.nameOnly
				h.notFound = 0
				if h.op == "" {
					h.setOp(from.op)
				}
			}
			from.slot = &slot{into: h}
			h.everYes = h.everYes || from.everYes
			h.yesSeq, h.yesAt = max(h.yesSeq, from.yesSeq), max(h.yesAt, from.yesAt)
			h.lastAsk = max(h.lastAsk, from.lastAsk)
			h.failures, h.unused = max(h.failures, from.failures), max(h.unused, from.unused)
			if h.located && h.holds() {
				h.pool, _ = l.poolFor(h, "", false)
			}
		})
	})
	from.unwant()
	from.status = merged
	l.updateLive(from)
	l.updateLive(h)
}

// forget removes h altogether.
func (l *Ledger) forget(h *host) {
	l.change(h, func() { h.slot = noSlot })
	l.remove(h)
	h.unwant()
	h.observed, h.status = observation{}, forgotten
	l.updateLive(h)
}

// forgetSilent forgets the hosts that have had nothing to do with us for long: altogether,
// or, where a yes of ours must be remembered (LH-11), what their owner keeps of them.
func (l *Ledger) forgetSilent() {
	for h := range l.all {
		switch {
		case h.holds() || h.busy(l.cfg.CountExtra) || !passed(h.lastAsk, l.at, forgetAfter) || h.owner != nil && h.owner.Keep():
		case h.observed.state.Failed() && h.observed.mark.seq >= l.view.whole.seq:
			// The next lists of failed nodes would show it as one that has failed since.
		case !h.everYes:
			l.forget(h)
		case h.owner != nil:
			h.status = silent
			l.touch(h)
		}
	}
}

// forgetNode forgets what h's node did, because that node is gone from Ironic (LH-16). The
// ledger remembers that a fetch was answered, so that the ask's own word places the host (LH-35).
func (l *Ledger) forgetNode(h *host) {
	if h.id.UUID != "" {
		l.endings = append(l.endings, Ending{Host: Ref{h}, Result: Gone})
	}
	h.everYes, h.located, h.named, h.lastBusy = false, false, false, otherTask
	h.failures, h.failedAs, h.unused, h.track = 0, otherTask, 0, track{}
	home := h.home.Value()
	home.driver, home.image = "", ""
	h.setHome(home)
	h.yesSeq, h.yesAt = 0, never
	l.removeName(h) // the name may have a new node
}

// keepByName turns h into a host known by name only (LH-23): its node is gone, but the last
// yes was to the name and may yet start work on a new node.
func (l *Ledger) keepByName(h *host) {
	l.removeUUID(h)
	owner := l.byName[h.id.Name]
	l.change(h, func() {
		h.id.UUID = ""
		h.located, h.named, h.answered = false, false, false
		h.observed, h.lastBusy, h.fetched = observation{}, otherTask, never
		h.busySeq, h.notFound = 0, 0
		l.move(h, moved)
	})
	if owner != nil && owner != h { // a new node bears the name already
		l.merge(h, owner)
		return
	}
	l.byName[h.id.Name] = h
}

// locate notes where Ironic says that h belongs and moves its slot to that pool.
func (l *Ledger) locate(h *host, n ironic.Node) {
	was, is := h.home.Value(), home{group: n.ConductorGroup, virtual: n.VirtualMedia(), driver: n.Driver, image: n.Image}
	if h.located && is.group == was.group && is.virtual == was.virtual {
		h.setHome(is)
		return
	}
	l.change(h, func() {
		h.located = true
		h.setHome(is)
		if h.holds() {
			h.pool, _ = l.poolFor(h, "", false)
		}
	})
}
