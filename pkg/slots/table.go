package slots

import (
	"cmp"
	"strings"
)

// Find returns the host that id means, nil if there is none. The UUID decides. A name alone means the host that had the
// name last. An id with a new UUID also finds the host of that name whose UUID nobody has told yet.
func (l *Ledger) Find(id ID) *Host {
	if h := l.byUUID[id.UUID]; h != nil && id.UUID != "" {
		return h
	}
	if h := l.byName[id.Name]; h != nil && id.Name != "" && (id.UUID == "" || h.UUID == "") {
		return h
	}
	return nil
}

// NameOf returns the name of the node with that UUID, "" if the ledger does not know it.
func (l *Ledger) NameOf(uuid string) string {
	if h := l.byUUID[uuid]; h != nil {
		return h.Name
	}
	return ""
}

// All calls f for every host, in no order. f may forget the host.
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

// learn gives h the UUID and the name of id. An ask does not change a name that Ironic has shown, except to add the
// namespace, and it takes no name from a host with a UUID. If another record has the name and no UUID, it is the same
// host, and learn merges the two. It copies the texts, as those of an ask would keep the whole request in memory.
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
		return // the name still finds its owner
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

// merge moves what from knows, a record without a UUID, to h, the other record of the same host.
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
	from.Slot, from.into = nil, h
	delete(l.strangers, from)
	delete(l.live, from)
	l.place(h)
	l.update(h)
	l.events.Merged(l.now, from, h)
}

// forget removes h, which holds no slot and is not at work.
func (l *Ledger) forget(h *Host) {
	if l.byUUID[h.UUID] == h {
		delete(l.byUUID, h.UUID)
	}
	l.unname(h)
	delete(l.strangers, h)
	l.events.Merged(l.now, h, nil)
}

// forgetSilent forgets the hosts that have not asked for long and that no fetch has shown. It keeps a host that had a
// yes, as its busy node counts, and a failed one, as the same failure would look like a new one.
func (l *Ledger) forgetSilent() {
	l.All(func(h *Host) {
		silent := min(l.now.Sub(h.AskedAt), l.now.Sub(h.fetched), l.now.Sub(l.start)) >= forgetAfter
		if silent && h.Slot == nil && !h.busy && !h.everYes && !h.State().Failed() {
			l.forget(h)
		}
	})
}
