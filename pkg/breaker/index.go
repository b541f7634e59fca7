package breaker

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// index finds the circuit of a scope, as a rule without a lock: in a map that no
// longer changes. What is newer than that is found in a second one under a lock, and
// after as many such finds as there are circuits that one is copied.
type index struct {
	settled atomic.Pointer[map[Scope]*circuit]

	mu sync.Mutex // is taken before that of a circuit
	// What follows is guarded by mu.

	circuits map[Scope]*circuit
	misses   int
	lastID   uint64
}

// quick returns the circuit of scope if it is not too new.
func (x *index) quick(scope Scope) *circuit {
	if m := x.settled.Load(); m != nil {
		return (*m)[scope]
	}
	return nil
}

// sure returns the circuit of scope. When there is none it is that of create, or nil
// without create.
func (x *index) sure(scope Scope, create func(id uint64) *circuit) *circuit {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.circuits[scope]
	if c == nil {
		if create == nil {
			return nil
		}
		x.lastID++
		c = create(x.lastID)
		if x.circuits == nil {
			x.circuits = map[Scope]*circuit{}
		}
		x.circuits[scope] = c
	}
	if x.misses++; x.misses >= len(x.circuits) {
		x.copyLocked()
	}
	return c
}

// all returns the circuits in the order in which they were made.
func (x *index) all() []*circuit {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.SortedFunc(maps.Values(x.circuits), byID)
}

// remove takes out those of list that are idle still. Who has found one before sees
// that it is gone and asks sure.
func (x *index) remove(now time.Time, list []*circuit) {
	if len(list) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range list {
		c.mu.Lock()
		if !c.gone && c.idleLocked(now) {
			c.gone = true
			delete(x.circuits, c.scope)
		}
		c.mu.Unlock()
	}
	x.copyLocked()
}

func (x *index) copyLocked() {
	m := maps.Clone(x.circuits)
	x.settled.Store(&m)
	x.misses = 0
}
