package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Put is one provisioning PUT of the gateway on its way to Ironic. Until it is answered, its host's slot cannot end.
// The caller must end it with one of Answered, Broken and Unsent; calls after that do nothing.
type Put struct {
	h      *Host
	target ironic.Target
	over   bool
}

// Forward gives the host of a PUT its slot, before the gateway sends the PUT. held: the host has a slot, or its node is
// at work.
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

// Sent notes that the first byte of put goes out now, which is a yes.
func (l *Ledger) Sent(now time.Time, put *Put) {
	if h, s := l.flight(now, put); s != nil {
		l.pass(h, Ask{Put: true})
	}
}

// Answered notes the HTTP status of Ironic's answer. 2xx proves work, 5xx proves nothing, and 4xx gives back a slot
// that was made for this PUT.
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
	h.yesSeq = l.seq // the host has used its yes: observations from now on show what became of it
	state, starts := put.target.Starts()
	switch {
	case status >= 400:
		l.refuse(h, s, put)
	case status >= 200 && status < 300 && starts:
		h.everYes, s.yesAt, h.missing = true, l.now, 0
		s.Phase, s.busySeq, s.idleAt = Working, h.yesSeq, time.Time{}
		s.Op, s.opSeq, s.did = put.target.Op(), h.yesSeq, state.Work()
		wasIdle := h.work == nil
		w := l.begin(h, h.yesSeq, state)
		w.rework = w.rework || wasIdle && h.State() == ironic.Active
		l.update(h)
	}
}

// Broken notes that nobody knows whether Ironic carries put out.
func (l *Ledger) Broken(now time.Time, put *Put) {
	if h, s := l.land(now, put); s != nil {
		l.seq++
		h.yesSeq, s.unsure = l.seq, l.now
	}
}

// Unsent notes that no byte of put has reached Ironic.
func (l *Ledger) Unsent(now time.Time, put *Put) {
	if h, s := l.land(now, put); s != nil {
		l.refuse(h, s, put)
	}
}

// flight returns the record of the host that put is for, also after a merge, and its slot: nil once put has ended.
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

// land does what flight does, and ends put.
func (l *Ledger) land(now time.Time, put *Put) (*Host, *Slot) {
	h, s := l.flight(now, put)
	if s != nil {
		put.over, s.flying = true, max(0, s.flying-1)
	}
	return h, s
}

// refuse ends a slot that was made for put, unless another PUT or a yes to an ask may still use it.
func (l *Ledger) refuse(h *Host, s *Slot, put *Put) {
	if s.creator == put && !s.inDoubt() && s.checkAt.IsZero() && s.Phase == Leased {
		l.end(h, Refused)
	}
}
