package slots

import (
	"cmp"
	"strings"
)

// Find returns the host that id means, nil if there is none. The UUID decides. A name alone means the host that had it
// last; a host that is known by its name only is found by an id with a UUID too, as it is about to learn it.
func (l *Ledger) Find(id ID) *Host {
	if h := l.byUUID[id.UUID]; h != nil && id.UUID != "" {
		return h
	}
	if h := l.byName[id.Name]; h != nil && id.Name != "" && (id.UUID == "" || h.UUID == "") {
		return h
	}
	return nil
}

// NameOf returns the name of the node with that UUID, "" if it is not known.
func (l *Ledger) NameOf(uuid string) string {
	if h := l.byUUID[uuid]; h != nil {
		return h.Name
	}
	return ""
}

// All calls f for every host, in no order.
func (l *Ledger) All(f func(*Host)) {
	for _, h := range l.byUUID {
		f(h)
	}
	for _, h := range l.byName {
		if h.UUID == "" {
			f(h)
		}
	}
}

// learn gives h the UUID and the name of id. Ironic's name stays when an ask says another one, unless that adds the
// namespace; and an ask takes no name from a node that has a UUID. The host that was known by the name only is the
// same one. Texts are copied, as those of an ask keep its request alive.
func (l *Ledger) learn(h *Host, id ID, byIronic bool) {
	if id.UUID != "" && (h.UUID != id.UUID || l.byUUID[id.UUID] != h) {
		h.UUID = strings.Clone(id.UUID)
		l.byUUID[h.UUID] = h
	}
	owner := l.byName[id.Name]
	addsNamespace := strings.Contains(id.Name, "~") && !strings.Contains(h.Name, "~")
	switch {
	case id.Name == "" || h.named && !byIronic && !addsNamespace:
		return
	case h.Name == id.Name && owner == h:
		h.named = h.named || byIronic
		return
	}
	l.unname(h)
	h.Name, h.named = strings.Clone(id.Name), byIronic
	if owner != nil && owner != h && owner.UUID != "" && !byIronic {
		return // it is called so, and not found by that name
	}
	l.byName[h.Name] = h
	if owner != nil && owner != h && owner.UUID == "" {
		l.merge(owner, h)
	}
}

func (l *Ledger) unname(h *Host) {
	if l.byName[h.Name] == h {
		delete(l.byName, h.Name)
	}
}

// merge makes one of two records of the same host: from was known by its name only.
func (l *Ledger) merge(from, h *Host) {
	switch {
	case h.Slot == nil:
		h.Slot = from.Slot
	case from.Slot != nil:
		if from.Slot.checkAt.After(h.Slot.checkAt) {
			h.Slot.checkAt, h.Slot.checkSeq = from.Slot.checkAt, from.Slot.checkSeq
		}
		if from.Slot.yesAt.After(h.Slot.yesAt) {
			h.Slot.yesAt = from.Slot.yesAt
		}
		h.Slot.Op = cmp.Or(h.Slot.Op, from.Slot.Op)
	}
	h.everYes = h.everYes || from.everYes
	h.yesSeq, h.Failures = max(h.yesSeq, from.yesSeq), max(h.Failures, from.Failures)
	if !h.HasAsked {
		h.Asked, h.AskedAt, h.HasAsked, h.Deployed = from.Asked, from.AskedAt, from.HasAsked, from.Deployed
		h.LastTold, h.ToldAt = from.LastTold, from.ToldAt
	}
	h.Consumer = cmp.Or(h.Consumer, from.Consumer)
	if h.Permit == nil {
		h.Permit, from.Permit = from.Permit, nil
	}
	from.Slot, from.gone, from.into = nil, true, h
	delete(l.strangers, from)
	l.update(from)
	l.place(h)
	l.update(h)
	l.events.Merged(l.now, from, h)
}

// forget removes h.
func (l *Ledger) forget(h *Host) {
	if l.byUUID[h.UUID] == h {
		delete(l.byUUID, h.UUID)
	}
	l.unname(h)
	delete(l.strangers, h)
	h.Slot, h.Node, h.Works, h.busy, h.gone = nil, nil, false, false, true
	l.update(h)
	l.events.Merged(l.now, h, nil)
}

// forgetSilent forgets the hosts that have had nothing to do with the throttle for long. Who had a yes is remembered,
// as it counts whenever it is busy, and who has failed, as that would be taken for another failure.
func (l *Ledger) forgetSilent() {
	l.All(func(h *Host) {
		silent := min(l.now.Sub(h.AskedAt), l.now.Sub(h.fetched), l.now.Sub(l.start)) >= forgetAfter
		if silent && h.Slot == nil && !h.busy && !h.everYes && !h.State().Failed() {
			l.forget(h)
		}
	})
}
