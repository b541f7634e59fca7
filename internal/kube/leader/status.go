package leader

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Status is what is known of the election, for people.
type Status struct {
	// Leading is as of Elector.Leading.
	Leading bool
	// Identity is ours.
	Identity string
	// Holder is the identity in the Lease as last seen, cut to a line; empty when nobody has it, or
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

// Standby tells who leads instead of us, or led when that could be seen last: while the
// API server is away nobody knows who does now. The time is one that stays, so that a
// status in which nothing changes stays the same.
func (s Status) Standby() string {
	fault := ""
	if s.Err != nil {
		fault = ironic.Line(s.Err.Error(), maxFault)
	}
	switch {
	case s.Err != nil && s.Holder == "":
		return fmt.Sprintf("nobody leads, as far as is known: %s", fault)
	case s.Err != nil:
		return fmt.Sprintf("%s led when the Lease was seen last, at %s; since then: %s", s.Holder, s.Seen.UTC().Format("15:04:05Z"), fault)
	case s.Holder == "":
		return "nobody leads yet"
	case s.Holder == s.Identity:
		return "it leads no more: its Lease could not be renewed in time"
	default:
		return s.Holder + " leads"
	}
}

// observed is what the last read of the Lease has shown.
type observed struct {
	mu     sync.Mutex
	holder string
	named  string // the last holder that was not ""
	since  time.Time
	seen   time.Time
	errs   map[string]error // by verb
}

// saw enters the holder at now and reports whether it is a new one.
func (s *observed) saw(holder string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.named = now, cmp.Or(holder, s.named)
	if s.holder == holder && !s.since.IsZero() {
		return false
	}
	s.holder, s.since = holder, now
	return true
}

// former is the last holder that was seen, also where it has given the Lease up since: its label
// may still be there.
func (s *observed) former() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.named
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
