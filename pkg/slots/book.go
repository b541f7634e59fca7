package slots

import (
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// find returns the host that id means, or nil (LH-25). The UUID decides. A name
// alone means the host that bore it last. A host known by name only is found by
// an id with a UUID too, because it is about to learn it.
func (l *Ledger) find(id ID) *host {
	if id.UUID != "" {
		if h := l.byUUID[id.UUID]; h != nil {
			return h
		}
		if h := l.byName[id.Name]; h != nil && id.Name != "" && h.id.UUID == "" {
			return h
		}
		return nil
	}
	return l.byName[id.Name]
}

// Find returns the host that id means; false where the ledger knows none.
func (l *Ledger) Find(id ID) (Ref, bool) {
	h := l.find(id)
	return Ref{h}, h != nil
}

// Name returns the name of the host with that UUID, "" where none is known.
func (l *Ledger) Name(uuid string) string {
	if h := l.byUUID[uuid]; h != nil {
		return h.id.Name
	}
	return ""
}

// admit returns the host that id means and makes one where there is none; the
// host learns what id knows, by Ironic's word where shown.
func (l *Ledger) admit(id ID, shown bool) *host {
	h := l.find(id)
	if h == nil {
		h = newHost()
	}
	l.learn(h, id, shown)
	return h
}

// learn enters id into h and the book. A host known by this name only is the
// same host and is folded into h; one with another UUID loses the name by Ironic's word
// only. An ask renames nothing that Ironic has named, but where it adds the namespace, and
// takes no name from another node: h may be called so, but by that name alone it is not
// found (LH-25). What is kept of id does not keep alive the request that it came in.
func (l *Ledger) learn(h *host, id ID, shown bool) {
	if id.UUID != "" && h.id.UUID != id.UUID {
		h.id.UUID = strings.Clone(id.UUID)
		l.byUUID[h.id.UUID] = h
	}
	owner := l.byName[id.Name]
	switch {
	case id.Name == "" || !shown && h.named && !extends(id.Name, h.id.Name):
		return
	case h.id.Name == id.Name && owner == h:
		h.named = h.named || shown
		return
	}
	if l.byName[h.id.Name] == h {
		delete(l.byName, h.id.Name)
	}
	h.id.Name, h.named = strings.Clone(id.Name), shown
	if owner != nil && owner != h {
		if !shown && owner.id.UUID != "" {
			return
		}
		if owner.id.UUID == "" {
			l.fold(owner, h)
		}
	}
	l.byName[h.id.Name] = h
}

// extends reports whether name is another than old, with a namespace that old lacks: BMO
// names nodes so, and who else has named one did not.
func extends(name, old string) bool {
	return strings.Contains(name, "~") && !strings.Contains(old, "~")
}

// fold moves what a host known by name only has into h, the same host by UUID:
// one slot of the two is enough.
func (l *Ledger) fold(from, h *host) {
	l.account(from, -1)
	l.account(h, -1)
	switch {
	case !h.holds():
		h.slot = from.slot
	case from.holds():
		h.checked, h.checkAt = h.checked || from.checked, max(h.checkAt, from.checkAt)
		h.renewed = max(h.renewed, from.renewed)
		h.nameOnly = h.nameOnly || from.nameOnly
		h.gone = 0
		if h.op == "" {
			h.take(from.op)
		}
	}
	h.everYes = h.everYes || from.everYes
	h.yesSeq, h.yesAt = max(h.yesSeq, from.yesSeq), max(h.yesAt, from.yesAt)
	h.lastAsk = max(h.lastAsk, from.lastAsk)
	from.slot = &slot{into: h}
	from.wanted = false
	from.lost = folded
	h.failures, h.unused = max(h.failures, from.failures), max(h.unused, from.unused)
	l.enlist(from)
	if h.facts && h.holds() {
		h.pool, _ = l.poolFor(h, "", false)
	}
	l.account(h, +1)
	l.enlist(h)
}

// drop forgets h altogether.
func (l *Ledger) drop(h *host) {
	l.account(h, -1)
	h.slot = noSlot
	if l.byUUID[h.id.UUID] == h {
		delete(l.byUUID, h.id.UUID)
	}
	if l.byName[h.id.Name] == h {
		delete(l.byName, h.id.Name)
	}
	h.seen, h.wanted = seen{}, false
	h.lost = dropped
	l.enlist(h)
}

// erase forgets what h's node did: that node is gone from Ironic (LH-16). That a
// fetch was answered stays, so that the ask's own word places the host (LH-35).
func (l *Ledger) erase(h *host) {
	if h.id.UUID != "" {
		l.endings = append(l.endings, Ending{Host: Ref{h}, Result: Gone})
	}
	h.everYes, h.facts, h.named, h.lastBusy = false, false, false, otherTask
	h.failures, h.failedAs, h.unused, h.track = 0, otherTask, 0, track{}
	at := h.home.Value()
	at.driver, at.image = "", ""
	h.settle(at)
	h.yesSeq, h.yesAt = 0, never
	if l.byName[h.id.Name] == h {
		delete(l.byName, h.id.Name) // the name may have a new node
	}
}

// unbind turns h into a host known by name only: its node is gone, but the last
// yes was to the name and may yet start work on a new node.
func (l *Ledger) unbind(h *host) {
	delete(l.byUUID, h.id.UUID)
	owner := l.byName[h.id.Name]
	l.change(h, func() {
		h.id.UUID = ""
		h.facts, h.named, h.answered = false, false, false
		h.seen, h.lastBusy, h.fetched = seen{}, otherTask, never
		h.busySeq, h.gone = 0, 0
		l.move(h, moved)
	})
	if owner != nil && owner != h { // a new node bears the name already
		l.fold(h, owner)
		return
	}
	l.byName[h.id.Name] = h
}

// place notes where Ironic says that h belongs and moves its slot there.
func (l *Ledger) place(h *host, n ironic.Node) {
	was, where := h.home.Value(), home{group: n.ConductorGroup, virtual: n.VirtualMedia(), driver: n.Driver, image: n.Image}
	if h.facts && where.group == was.group && where.virtual == was.virtual {
		h.settle(where)
		return
	}
	l.change(h, func() {
		h.facts = true
		h.settle(where)
		if h.holds() {
			h.pool, _ = l.poolFor(h, "", false)
		}
	})
}
