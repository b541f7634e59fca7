package breaker

import (
	"sync"
	"time"
)

// Event is a change of state.
type Event struct {
	Scope    Scope
	From, To State
	// At is when it happened, which may be earlier than when it was seen.
	At time.Time
	// Failures opened it, with Causes; 0 unless To is Open.
	Failures int
	Causes   []Cause
	// ByHand is true for Set.Trip and Set.Reset.
	ByHand bool
}

// journal keeps the newest events until they are read.
type journal struct {
	mu     sync.Mutex
	events ring[Event]
}

func (j *journal) add(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events.push(e, maxEvents)
}

// Events returns the changes of state since the last call, in order. Of more than
// 1024 the oldest are lost.
func (s *Set) Events() []Event {
	if s.off() {
		return nil
	}
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	var events []Event
	for s.out.events.n > 0 {
		events = append(events, s.out.events.pop())
	}
	return events
}
