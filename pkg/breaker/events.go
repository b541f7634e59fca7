package breaker

import "time"

// Event is a change of state.
type Event struct {
	Scope    Scope
	From, To State
	// At is when it happened, which may be earlier than the call that noticed it.
	At time.Time
	// Failures opened it, with Causes; 0 unless To is Open.
	Failures int
	Causes   []Cause
	// ByHand is true for Set.Trip and Set.Reset.
	ByHand bool
}

// Events returns the changes of state since the last call, in order. Of more than
// 1024 the oldest are lost.
func (s *Set) Events() []Event {
	if s == nil {
		return nil
	}
	events := s.events.slice()
	s.events = ring[Event]{}
	return events
}
