package sizing

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// StateVersion is the version of a State that this package writes and reads.
const StateVersion = 2

// MaxState bounds what State.Text returns and ParseState reads, in bytes.
const MaxState = 512 << 10

// State is what the Limiters of all pools know, where it outlives the process.
type State struct {
	Version int               `json:"version"`
	Pools   map[string]Record `json:"pools"` // "" is the total
}

// Record is what one Limiter knows.
type Record struct {
	Limit   int                `json:"limit"` // that it had found; a fixed one ignores it
	Quick   bool               `json:"quick,omitempty"`
	Bad     int                `json:"bad,omitempty"`
	BadAt   time.Time          `json:"badAt,omitzero"`
	BadPart float64            `json:"badPart,omitempty"`
	Stood   int                `json:"stood,omitempty"`
	Usual   float64            `json:"usual,omitempty"`
	Least   map[string]float64 `json:"least,omitempty"` // seconds of a boot without load, by kind
	Windows []Window           `json:"windows,omitempty"`
}

// Window is what a round has shown, as it is kept.
type Window struct {
	At       time.Time `json:"at"` // its end
	Limit    int       `json:"limit"`
	Occupied int       `json:"occupied"` // slots without those of lost boots, at most
	Up       int       `json:"up"`
	Lost     int       `json:"lost"`
	Slower   float64   `json:"slower"`         // than without load, times
	Full     bool      `json:"full,omitempty"` // every slot was used, and hosts waited
}

// Text returns s as a store keeps it: one line of JSON. It is an error if that is longer than MaxState.
func (s State) Text() ([]byte, error) {
	s.Version = StateVersion
	text, err := json.Marshal(s)
	if err == nil && len(text) > MaxState {
		err = fmt.Errorf("limits: longer than %d bytes", MaxState)
	}
	return text, err
}

// ParseState reads what Text has written, and checks it.
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

// possible reports whether a Limiter may have written r.
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
		Limit: l.limit, Quick: l.quick, Bad: l.bad, BadAt: l.badAt.Round(0).UTC(), BadPart: l.badPart, Stood: l.stood,
		Usual: l.usual, Least: least, Windows: slices.Clone(l.history),
	}
}

// Restore makes l know what r says, which must be a Record of ParseState or of another Limiter.
func (l *Limiter) Restore(now time.Time, r Record) {
	l.forget(now)
	l.limit, l.quick, l.bad, l.badAt, l.stood = min(l.ceiling, r.Limit), r.Quick, r.Bad, r.BadAt, r.Stood
	l.badPart, l.usual, l.history = r.BadPart, r.Usual, slices.Clone(r.Windows)
	if l.badAt.After(now) { // by a clock that was wrong
		l.badAt = now
	}
	for name, s := range r.Least {
		l.kinds[name] = &kind{typical: s, mean: s, least: s, n: many}
	}
}
