package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Put is one provisioning PUT of the gateway on its way to Ironic. Until it is answered its host's slot cannot end.
// Exactly one of Answered, Broken and Unsent must end it; what is called after that does nothing.
type Put struct {
	h      *Host
	target ironic.Target
	over   bool
}

// Forward gives the host of a PUT its slot, before a byte of it is sent; held: it has one, or is at work.
func (l *Ledger) Forward(now time.Time, h *Host, ask Ask, target ironic.Target, held bool) *Put {
	put := &Put{h: h, target: target}
	if held {
		l.Renew(now, h, ask)
	} else {
		l.Grant(now, h, ask)
		h.Slot.creator = put
	}
	h.Slot.flying++
	return put
}

// Sent notes that its first byte goes out now, which is a yes.
func (l *Ledger) Sent(now time.Time, put *Put) {
	if h, s := l.flight(now, put); s != nil {
		l.pass(h, Ask{Put: true})
	}
}

// Answered notes Ironic's answer: 2xx proves work, 5xx leaves it open, and anything else gives a slot that was made
// for this PUT back.
func (l *Ledger) Answered(now time.Time, put *Put, status int) {
	if status >= 500 {
		l.Broken(now, put)
		return
	}
	h, s := l.land(now, put)
	if s == nil {
		return
	}
	l.seq++
	h.yesSeq = l.seq // the yes is used: what is seen from now on shows how it ended
	state, starts := put.target.Starts()
	switch {
	case status >= 400:
		l.refuse(h, s, put)
	case status >= 200 && status < 300 && starts:
		h.everYes, s.yesAt, h.missing = true, l.now, 0
		s.Phase, s.busySeq, s.idleAt = Working, h.yesSeq, time.Time{}
		s.Op, s.opSeq, s.did = put.target.Op(), h.yesSeq, state.Work()
		idle := h.work == nil
		w := l.begin(h, h.yesSeq, state)
		w.rework = w.rework || idle && h.State() == ironic.Active
		l.update(h)
	}
}

// Broken notes that nobody knows whether Ironic carries it out.
func (l *Ledger) Broken(now time.Time, put *Put) {
	if h, s := l.land(now, put); s != nil {
		l.seq++
		h.yesSeq, s.unsure = l.seq, l.now
	}
}

// Unsent notes that no byte of it has reached Ironic.
func (l *Ledger) Unsent(now time.Time, put *Put) {
	if h, s := l.land(now, put); s != nil {
		l.refuse(h, s, put)
	}
}

// flight returns the one record of the host that a PUT is for, and its slot: nil when the flight is over.
func (l *Ledger) flight(now time.Time, put *Put) (*Host, *Slot) {
	l.Tick(now)
	for put.h.into != nil {
		put.h = put.h.into
	}
	if put.over {
		return put.h, nil
	}
	return put.h, put.h.Slot
}

// land is flight, and ends it.
func (l *Ledger) land(now time.Time, put *Put) (*Host, *Slot) {
	h, s := l.flight(now, put)
	if s != nil {
		put.over, s.flying = true, max(0, s.flying-1)
	}
	return h, s
}

// refuse ends a slot that was made for put, if nothing else may come of it.
func (l *Ledger) refuse(h *Host, s *Slot, put *Put) {
	if s.creator == put && !s.inDoubt() && s.checkAt.IsZero() && s.Phase == Leased {
		l.end(h, Refused)
	}
}
