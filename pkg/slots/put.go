package slots

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Put is one provisioning PUT of a gateway in flight to Ironic. Until it is answered
// its host's slot cannot end (GW-3). Exactly one of Answered, Broken and Unsent
// must end it; further calls do nothing.
type Put struct {
	h      *host
	target ironic.Target
	idle   bool // the node was idle, and nothing else of ours could make it busy
	begun  uint64
	sent   uint64 // Seq at the first byte; 0 = not yet
	over   bool
}

// puts is what a slot knows of the PUTs of its host.
type puts struct {
	creator  *Put   // the PUT that created the slot (GW-5)
	inFlight int    // not answered yet
	together uint64 // Seq at which two of them were last in flight at once

	unknown int    // PUTs whose outcome is unknown (GW-6)
	brokeAt moment // when the connection of the last of these broke
	sent    uint64 // Seq at which that one was sent
	// idle: the node was idle then, and nothing else of ours could have made it
	// busy since.
	idle bool
}

// pending reports whether a PUT may still start work.
func (p *puts) pending() bool { return p.inFlight > 0 || p.unknown > 0 }

// settle takes an observation of the node at work: if it was idle when the only PUT of
// unknown outcome was sent, that PUT took effect (GW-6).
func (p *puts) settle(seq uint64) {
	if p.unknown == 1 && p.inFlight == 0 && p.idle && seq > p.sent {
		p.unknown = 0
	}
}

// end notes that the PUT is in flight no more.
func (p *Put) end() {
	p.over = true
	p.h.puts.inFlight--
}

// Forward notes that a PUT is in flight, to which the ledger said Held, or Open with a free slot:
// the host holds a slot from now on. The host's UUID must be known. Before Sent, an observation of its
// node begun after the PUT came in should be given to ObserveNode (GW-17), best after
// Forward: then the ledger knows what this PUT alone does.
func (l *Ledger) Forward(now time.Time, v Verdict, target ironic.Target) *Put {
	idle := v.host != nil && v.host.knownIdle(l.at, l.cfg.MaxStale)
	put := &Put{target: target, idle: idle, begun: l.Begin(now).Seq}
	if v.Outcome == Held {
		l.Commit(now, v)
	} else {
		l.Grant(now, v)
	}
	h := l.find(v.ask.ID)
	put.h = h
	if v.Outcome != Held {
		h.puts.creator = put
		h.setOp(target.Op())
	}
	if h.puts.inFlight > 0 {
		h.puts.together = l.stamp()
	}
	h.puts.inFlight++
	return put
}

// Sent notes that the first byte is sent now: a yes (GW-3).
func (l *Ledger) Sent(now time.Time, put *Put) {
	l.tick(now)
	if put.over {
		return
	}
	put.idle = put.idle || put.h.knownIdle(l.at, l.cfg.MaxStale)
	put.h.noteYes(l.stamp(), l.at, "")
	put.sent = put.h.yesSeq
}

// Answered notes Ironic's answer. A 2xx is a yes and proof of work; a 4xx ends a lease
// that this PUT alone made (GW-5); 5xx leaves the outcome unknown (GW-6).
func (l *Ledger) Answered(now time.Time, put *Put, status int) {
	switch {
	case put.over:
		return
	case status >= 500:
		l.Broken(now, put)
		return
	}
	l.tick(now)
	put.end()
	h := put.h
	h.yesSeq = l.stamp() // the yes is used up: only later observations show how it ended
	switch {
	case status >= 200 && status < 300:
		h.everYes = true
		h.yesAt = l.at
		state, starts := put.target.Starts()
		if !starts {
			return
		}
		l.began(h, h.yesSeq)
		h.setOp(put.target.Op())
		h.lastBusy = taskOf(state)
		before := h.job
		l.conclude(h, h.start(h.yesSeq, state), false)
		if h.job != before { // polls that show it later take it for one that they know
			h.job.workSince = l.at
		}
		h.notFound = 0
		l.view.listsOutdated = true
	case status >= 400:
		l.refuse(put)
	}
}

// refuse ends the lease that was made for put, which Ironic did not accept, unless something
// else needs it (GW-5).
func (l *Ledger) refuse(put *Put) {
	h := put.h
	if h.puts.creator == put && !h.puts.pending() && !h.checked && h.phase == leased {
		l.end(h, refused)
	}
}

// Broken notes that the connection broke, or time ran out, after the first byte:
// nobody knows whether Ironic acts on it (GW-6).
func (l *Ledger) Broken(now time.Time, put *Put) {
	if put.over {
		return
	}
	l.tick(now)
	put.end()
	h := put.h
	h.yesSeq = l.stamp()
	p := &h.puts
	p.unknown++
	alone := p.unknown == 1 && put.begun > p.together && !h.checked
	p.brokeAt, p.sent, p.idle = l.at, put.sent, put.idle && alone
}

// Unsent notes that no byte of the PUT reached Ironic; the lease ends under the
// conditions of GW-5 (GW-3, GW-9).
func (l *Ledger) Unsent(now time.Time, put *Put) {
	if put.over {
		return
	}
	l.tick(now)
	put.end()
	l.refuse(put)
}
