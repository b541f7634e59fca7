package breaker

import (
	"slices"
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
// Of a nil Permit these do nothing. It is not safe for concurrent use, nor beside its
// Set.
type Permit struct {
	first   stake // without a circuit when no scope was named
	settled bool
}

// stake is the part of a permit in one scope.
type stake struct {
	circuit *circuit
	next    *stake // of the same permit
	// generation is that of the circuit when the work began. Once the circuit has
	// another one, and with noVerdict, its outcome changes nothing there.
	generation uint32
}

// noVerdict is the generation of no circuit.
const noVerdict = 0

// newPermit returns a permit with a stake in each circuit, in that order. For one
// circuit it takes one allocation.
func newPermit(list []*circuit) *Permit {
	p := &Permit{}
	st := &p.first
	for i, c := range list {
		if i > 0 {
			st.next = &stake{}
			st = st.next
		}
		st.circuit, st.generation = c, c.generation
	}
	return p
}

// stakes is the first of p, nil when there is none.
func (p *Permit) stakes() *stake {
	if p == nil || p.first.circuit == nil {
		return nil
	}
	return &p.first
}

// Scopes returns those that the permit is of, in the order in which they were asked.
func (p *Permit) Scopes() []Scope {
	var scopes []Scope
	for st := p.stakes(); st != nil; st = st.next {
		scopes = append(scopes, st.circuit.scope)
	}
	return scopes
}

// Succeed ends the work well. It returns ErrSettled when the permit was settled
// before (CB-14), and then does nothing.
func (p *Permit) Succeed(now time.Time, w Work) error {
	return p.settle(now, &outcome{kind: w.Kind}, nil)
}

// Fail ends the work badly; a nil err is an unknown error (CB-23). In the scopes of
// except it ends without a verdict. It returns ErrSettled when the permit was settled
// before, and then does nothing.
func (p *Permit) Fail(now time.Time, w Work, err error, except ...Scope) error {
	return p.settle(now, failed(w, err), except)
}

// Cancel ends the work without a verdict: a probe gives its place back (CB-13). A
// start stays counted in the rate. It returns ErrSettled when the permit was settled
// before, and then does nothing.
func (p *Permit) Cancel(now time.Time) error {
	return p.settle(now, nil, nil)
}

func (p *Permit) settle(now time.Time, o *outcome, except []Scope) error {
	if p == nil {
		return nil
	}
	if p.settled {
		return ErrSettled
	}
	p.settled = true
	for st := p.stakes(); st != nil; st = st.next {
		c := st.circuit
		c.tick(now)
		c.used = c.now
		if slices.Contains(except, c.scope) {
			c.end(st, nil)
		} else {
			c.end(st, o)
		}
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
	var buf [4]*circuit
	for _, c := range s.use(buf[:0], now, scopes) {
		c.count(o)
	}
}
