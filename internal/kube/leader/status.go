package leader

import (
	"cmp"
	"sync"
	"time"
)

// Status is what is known of the election, for people.
type Status struct {
	// Leading is as of Elector.Leading.
	Leading bool
	// Identity is ours.
	Identity string
	// Holder is the identity in the Lease as last seen; empty when nobody has it, or
	// nothing was seen yet.
	Holder string
	// Since is when this holder was first seen, by our clock.
	Since time.Time
	// Seen is when this holder was seen last.
	Seen time.Time
	// Err is why the latest request of a kind (get, create, update) failed; nil when none
	// did. That another replica was faster is no failure.
	Err error
}

// observed is what the last read of the Lease has shown.
type observed struct {
	mu     sync.Mutex
	holder string
	since  time.Time
	seen   time.Time
	errs   map[string]error // by verb
}

// saw enters the holder at now and reports whether it is a new one.
func (s *observed) saw(holder string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = now
	if s.holder == holder && !s.since.IsZero() {
		return false
	}
	s.holder, s.since = holder, now
	return true
}

// went enters how the latest request of a verb went.
func (s *observed) went(verb string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.errs, verb)
		return
	}
	if s.errs == nil {
		s.errs = map[string]error{}
	}
	s.errs[verb] = err
}

// enter copies what was seen into status.
func (s *observed) enter(status *Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status.Holder, status.Since, status.Seen = s.holder, s.since, s.seen
	status.Err = cmp.Or(s.errs["update"], s.errs["create"], s.errs["get"])
}
