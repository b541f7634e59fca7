package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Put is one provisioning PUT of a gateway on its way to Ironic. While it is,
// its host's slot cannot end (GW-3). Exactly one of Answered, Broken and Unsent
// must end it; further calls do nothing.
type Put struct {
	h      *host
	target ironic.Target
	idle   bool
	begun  uint64
	sent   uint64 // Seq at the first byte; 0 = not yet
	over   bool
}

// Forward lets the PUT of a Held, or Open and free, verdict go: the host holds a
// slot from now on. The host's UUID must be known. Before Sent, a sight of it begun
// after the PUT came in should be given to ObserveNode (GW-17), best after Forward:
// then it can tell what this PUT alone does.
func (l *Ledger) Forward(now time.Time, v Verdict, target ironic.Target) *Put {
	put := &Put{target: target, idle: l.surelyIdle(v.host), begun: l.Begin(now).Seq}
	if v.Outcome == Held {
		l.Commit(now, v)
	} else {
		l.Grant(now, v)
	}
	put.h = l.find(v.ask.ID)
	if v.Outcome != Held {
		put.h.byPut = put
		put.h.take(target.Op())
	}
	if put.h.flights > 0 {
		put.h.crowded = l.stamp()
	}
	put.h.flights++
	return put
}

// surelyIdle reports whether h was seen idle lately, and after everything that we
// said yes to: what makes it busy from now on is what we send now (GW-6).
func (l *Ledger) surelyIdle(h *host) bool {
	return h != nil && h.seen.outside() && h.seen.mark.seq > h.yesSeq && !beyond(h.seen.mark.at, l.at, l.cfg.MaxStale)
}

// Sent notes that the first byte goes out now: a yes (GW-3).
func (l *Ledger) Sent(now time.Time, put *Put) {
	l.tick(now)
	if put.over {
		return
	}
	put.idle = put.idle || l.surelyIdle(put.h)
	l.yes(put.h, "")
	put.sent = put.h.yesSeq
}

// Answered notes Ironic's answer. 2xx is a yes and work seen; a 4xx ends a lease
// that this PUT alone made (GW-5); 5xx leaves the outcome unknown (GW-6).
func (l *Ledger) Answered(now time.Time, put *Put, status int) {
	switch {
	case put.over:
		return
	case status >= 500:
		l.Broken(now, put)
		return
	}
	l.land(now, put)
	h := put.h
	h.yesSeq = l.stamp() // the yes is used up: only later looks tell how it ended
	switch {
	case status >= 200 && status < 300:
		l.accepted(h, put)
	case status >= 400:
		l.refused(h, put)
	}
}

func (l *Ledger) accepted(h *host, put *Put) {
	h.everYes = true
	h.yesAt = l.at
	state, starts := put.target.Starts()
	if !starts {
		return
	}
	l.began(h, h.yesSeq)
	h.take(put.target.Op())
	h.lastBusy = taskOf(state)
	l.conclude(h, h.start(h.yesSeq, state))
	h.gone = 0
	l.hinted = true
}

// refused is GW-5: Ironic did not take the PUT for which the lease was made, and
// nothing else hangs on it.
func (l *Ledger) refused(h *host, put *Put) {
	if h.byPut == put && h.flights == 0 && h.doubts == 0 && !h.checked && h.phase == leased {
		l.totals.Refused++
		l.vacate(h, refused, EndRefused)
	}
}

// Broken notes that the connection broke, or time ran out, after the first byte:
// nobody knows whether Ironic acts on it (GW-6).
func (l *Ledger) Broken(now time.Time, put *Put) {
	if put.over {
		return
	}
	l.land(now, put)
	h := put.h
	h.yesSeq = l.stamp()
	h.doubts++
	alone := h.doubts == 1 && put.begun > h.crowded && !h.checked
	h.doubt = doubt{at: l.at, sent: put.sent, idle: put.idle && alone}
}

// Unsent notes that no byte of the PUT reached Ironic; the lease ends under the
// conditions of GW-5 (GW-3, GW-9).
func (l *Ledger) Unsent(now time.Time, put *Put) {
	if put.over {
		return
	}
	l.land(now, put)
	l.refused(put.h, put)
}

func (l *Ledger) land(now time.Time, put *Put) {
	l.tick(now)
	put.over = true
	put.h.flights--
}
