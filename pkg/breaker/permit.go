package breaker

import (
	"sync/atomic"
	"time"
)

// Work is whose work ended and what kind of work it was. Both may be "".
type Work struct {
	// Host is counted at most once in a FailureWindow; "" always.
	Host string
	// Kind is deploy, clean, inspect …: a success takes away only failures of its
	// own kind.
	Kind string
}

// Permit is the right to run one work. Settle it once with Succeed, Fail or Cancel.
// Of a nil Permit these do nothing. It is safe for concurrent use.
type Permit struct {
	first   stake // without a circuit when no scope was named
	settled atomic.Bool
}

// stake is the part of a permit in one scope; next is that in the next scope. Its
// circuit's lock guards it.
type stake struct {
	circuit    *circuit
	next       *stake
	generation uint32
	probe      bool // was one when it began
	mute       bool // gives no verdict, ever
}

// newPermit returns a permit with a stake in each circuit, in that order. It is kept
// small: an ask costs little more than this.
func newPermit(list []*circuit) *Permit {
	p := &Permit{}
	if len(list) == 0 {
		return p
	}
	p.first.circuit = list[0]
	if len(list) > 1 {
		more := make([]stake, len(list)-1)
		st := &p.first
		for i := range more {
			more[i].circuit = list[i+1]
			st.next = &more[i]
			st = st.next
		}
	}
	return p
}

// stakes is the first of p, nil when there is none.
func (p *Permit) stakes() *stake {
	if p.first.circuit == nil {
		return nil
	}
	return &p.first
}

// Succeed ends the work well. It returns ErrSettled when the permit was settled
// before (CB-14), and then does nothing.
func (p *Permit) Succeed(now time.Time, w Work) error {
	return p.settle(now, &outcome{kind: w.Kind})
}

// Fail ends the work badly; a nil err is an unknown error (CB-23). It returns
// ErrSettled when the permit was settled before, and then does nothing.
func (p *Permit) Fail(now time.Time, w Work, err error) error {
	return p.settle(now, failed(w, err))
}

// Cancel ends the work without a verdict: a probe gives its place back (CB-13). A
// start stays counted in the rate. It returns ErrSettled when the permit was settled
// before, and then does nothing.
func (p *Permit) Cancel(now time.Time) error {
	return p.settle(now, nil)
}

// Scopes returns those that the permit is of, in the order in which they were asked.
func (p *Permit) Scopes() []Scope {
	if p == nil {
		return nil
	}
	var scopes []Scope
	for st := p.stakes(); st != nil; st = st.next {
		scopes = append(scopes, st.circuit.scope)
	}
	return scopes
}

func (p *Permit) settle(now time.Time, o *outcome) error {
	if p == nil {
		return nil
	}
	if p.settled.Swap(true) {
		return ErrSettled
	}
	for st := p.stakes(); st != nil; st = st.next {
		c := st.circuit
		c.mu.Lock()
		c.tickLocked(now)
		c.used = c.now
		c.leaveLocked(st, o)
		c.mu.Unlock()
	}
	return nil
}

// RecordForeign counts the failure of a work that had no permit (CB-15). Only a
// CLOSED scope counts it; concurrency does not change.
func (s *Set) RecordForeign(now time.Time, w Work, err error, scopes ...Scope) {
	s.record(now, failed(w, err), scopes)
}

// RecordSuccess counts the success of a work that had no permit, or of a step of
// one. Only a CLOSED scope counts it; concurrency does not change.
func (s *Set) RecordSuccess(now time.Time, w Work, scopes ...Scope) {
	s.record(now, &outcome{kind: w.Kind}, scopes)
}

func (s *Set) record(now time.Time, o *outcome, scopes []Scope) {
	if s.off() {
		return
	}
	var buf [4]*circuit
	list := s.lock(buf[:0], now, scopes, true)
	defer unlockAll(list)
	for _, c := range list {
		c.used = c.now
		c.countLocked(o)
	}
}
