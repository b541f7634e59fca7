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
	settled atomic.Bool
	stakes  []stake
	one     [1]stake // saves the usual permit an allocation
}

// stake is the part of a permit in one scope. Its circuit's lock guards it.
type stake struct {
	circuit    *circuit
	generation uint64
	since      time.Duration
	probe      bool
	mute       bool // gives no verdict, ever
}

func newPermit(n int) *Permit {
	p := &Permit{}
	if n <= len(p.one) {
		p.stakes = p.one[:n]
	} else {
		p.stakes = make([]stake, n)
	}
	return p
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
	scopes := make([]Scope, len(p.stakes))
	for i := range p.stakes {
		scopes[i] = p.stakes[i].circuit.scope
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
	for i := range p.stakes {
		st := &p.stakes[i]
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
