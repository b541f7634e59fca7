package sizing

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// StateVersion is the version of a State that this package writes and reads.
const StateVersion = 2

// MaxState is the most bytes that State.Text returns and ParseState reads.
const MaxState = 512 << 10

// State is what the Limiters of all pools know, in the form in which a store keeps it through a restart.
type State struct {
	Version int               `json:"version"`
	Pools   map[string]Record `json:"pools"` // by name; "" is the pool of all slots
}

// Record is what one Limiter knows.
type Record struct {
	Limit   int                `json:"limit"`             // what an adaptive Limiter has found
	Quick   bool               `json:"quick,omitempty"`   // it is in slow start: the limit doubles
	Bad     int                `json:"bad,omitempty"`     // slots with which the site lost boots; 0: none
	BadAt   time.Time          `json:"badAt,omitzero"`    // when it lost them
	BadPart float64            `json:"badPart,omitempty"` // the part of the boots that it lost then
	Stood   int                `json:"stood,omitempty"`   // slots, at most Bad, with which it lost few boots
	Usual   float64            `json:"usual,omitempty"`   // part of the boots that it loses whatever the limit
	Least   map[string]float64 `json:"least,omitempty"`   // seconds of a boot without load, by kind
	Windows []Window           `json:"windows,omitempty"` // the last rounds, oldest first
}

// Window is what a round has shown.
type Window struct {
	At       time.Time `json:"at"`             // when the Limiter judged it
	Limit    int       `json:"limit"`          // in force then
	Occupied int       `json:"occupied"`       // the most slots that were taken, without those of overdue boots
	Up       int       `json:"up"`             // boots that came up
	Lost     int       `json:"lost"`           // boots that failed late, or are overdue
	Slower   float64   `json:"slower"`         // how many times longer boots took than without load
	Full     bool      `json:"full,omitempty"` // the round used the limit, and hosts waited
}

// Text returns s as one line of JSON with the StateVersion, or an error if that is longer than MaxState.
func (s State) Text() ([]byte, error) {
	s.Version = StateVersion
	text, err := json.Marshal(s)
	if err == nil && len(text) > MaxState {
		err = fmt.Errorf("limits: longer than %d bytes", MaxState)
	}
	return text, err
}

// ParseState reads what Text has written. The error says what is wrong with it: Restore relies on these checks.
func ParseState(text []byte) (State, error) {
	if len(text) > MaxState {
		return State{}, fmt.Errorf("limits: longer than %d bytes", MaxState)
	}
	var s State
	switch err := json.Unmarshal(text, &s); {
	case err != nil:
		return State{}, fmt.Errorf("limits: %w", err)
	case s.Version != StateVersion:
		return State{}, fmt.Errorf("limits: version: %d is not %d", s.Version, StateVersion)
	}
	for name, r := range s.Pools {
		if !r.possible() {
			return State{}, fmt.Errorf("limits: pool %.60q: a number is out of range", name)
		}
	}
	return s, nil
}

// possible reports whether a Limiter can have been in the state of r.
func (r *Record) possible() bool {
	return r.Limit >= 1 && (r.Bad == 0 && r.Stood == 0 || 1 <= r.Stood && r.Stood <= r.Bad) &&
		min(r.BadPart, r.Usual) >= 0 && max(r.BadPart, r.Usual) <= 1 && len(r.Windows) <= keptWindows
}

// Record returns what l knows.
func (l *Limiter) Record() Record {
	least := map[string]float64{}
	for name, k := range l.kinds {
		if k.least > 0 {
			least[name] = k.least
		}
	}
	return Record{
		Limit: l.limit, Quick: l.slowStart, Usual: l.usual, Least: least, Windows: slices.Clone(l.history),
		Bad: l.tooMany, BadAt: l.lostAt.Round(0).UTC(), BadPart: l.lostPart, Stood: l.stood,
	}
}

// Restore makes l know what another Limiter knew. r must come from ParseState or Record.
func (l *Limiter) Restore(now time.Time, r Record) {
	l.forget(now)
	l.limit, l.slowStart, l.usual, l.history = min(l.ceiling, r.Limit), r.Quick, r.Usual, slices.Clone(r.Windows)
	l.tooMany, l.lostAt, l.lostPart, l.stood = r.Bad, r.BadAt, r.BadPart, r.Stood
	if l.lostAt.After(now) { // a clock was wrong
		l.lostAt = now
	}
	for name, s := range r.Least {
		l.kinds[name] = &kind{typical: s, mean: s, least: s, n: many}
	}
}
