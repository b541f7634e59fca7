package sizing

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// StateVersion is the version of a State that this package writes and reads.
const StateVersion = 1

// Bounds of a State.
const (
	// MaxState bounds what State.Text returns and ParseState reads, in bytes.
	MaxState = 512 << 10

	maxPools = 64
	maxKinds = 16
	maxLimit = 100_000
	maxText  = 256
)

// State is what the Limiters of all pools know, where it outlives the process.
type State struct {
	Version int               `json:"version"`
	Pools   map[string]Record `json:"pools"` // "" is the total
}

// Record is what one Limiter knows.
type Record struct {
	Limit   int               `json:"limit"` // that it had found; a fixed one ignores it
	Quick   bool              `json:"quick,omitempty"`
	Bad     int               `json:"bad,omitempty"`
	BadAt   time.Time         `json:"badAt,omitzero"`
	Stood   int               `json:"stood,omitempty"`
	Base    map[string]sample `json:"base,omitempty"`
	Windows []Window          `json:"windows,omitempty"`
}

// Text returns s as a store keeps it: one line of JSON. Pools beyond the first 64 by name are left out.
func (s State) Text() ([]byte, error) {
	if len(s.Pools) > maxPools {
		all := slices.Sorted(maps.Keys(s.Pools))
		pools := map[string]Record{}
		for _, name := range all[:maxPools] {
			pools[name] = s.Pools[name]
		}
		s.Pools = pools
	}
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
	if err := json.Unmarshal(text, &s); err != nil {
		return State{}, fmt.Errorf("limits: %w", err)
	}
	if s.Version != StateVersion {
		return State{}, fmt.Errorf("limits: version: %d is not %d", s.Version, StateVersion)
	}
	if len(s.Pools) > maxPools {
		return State{}, fmt.Errorf("limits: pools: %d are more than %d", len(s.Pools), maxPools)
	}
	for name, r := range s.Pools {
		if len(name) > maxText {
			return State{}, fmt.Errorf("limits: pool %.60q: its name is longer than %d bytes", name, maxText)
		}
		if err := r.check(); err != nil {
			return State{}, fmt.Errorf("limits: pool %.60q: %w", name, err)
		}
	}
	return s, nil
}

// check reports the first thing in r that no Limiter writes.
func (r *Record) check() error {
	switch {
	case r.Limit < 1 || r.Limit > maxLimit:
		return fmt.Errorf("limit: %d is not 1..%d", r.Limit, maxLimit)
	case r.Bad < 0 || r.Bad > maxLimit || r.Stood < 0 || r.Stood > r.Bad:
		return fmt.Errorf("bad, stood: %d, %d are not 0..%d, the second one not above the first", r.Bad, r.Stood, maxLimit)
	case len(r.Base) > maxKinds || len(r.Windows) > keptWindows:
		return fmt.Errorf("base, windows: more than %d or %d", maxKinds, keptWindows)
	}
	for kind, s := range r.Base {
		if len(kind) > maxText || s.N < 1 || s.N > mostSample || !(math.Abs(s.Mean) < 20) {
			return fmt.Errorf("base: %.60q: mean %v of %d boots cannot be", kind, s.Mean, s.N)
		}
	}
	for _, w := range r.Windows {
		if min(w.Limit, w.Occupied, w.Up, w.Lost) < 0 || max(w.Limit, w.Occupied, w.Up, w.Lost) > maxLimit || !(w.Booting >= 0 && w.Slower >= 0) {
			return errors.New("windows: a number is out of range")
		}
	}
	return nil
}

// Record returns what l knows.
func (l *Limiter) Record() Record {
	return Record{
		Limit: l.limit, Quick: l.quick, Bad: l.bad, BadAt: l.badAt.Round(0).UTC(), Stood: l.stood, Base: maps.Clone(l.base), Windows: slices.Clone(l.history),
	}
}

// Restore makes l know what r says, which must be a Record of ParseState or of another Limiter.
func (l *Limiter) Restore(now time.Time, r Record) {
	l.limit, l.quick, l.bad, l.badAt, l.stood = min(l.ceiling, r.Limit), r.Quick, r.Bad, r.BadAt, r.Stood
	if l.badAt.After(now) { // by a clock that was wrong
		l.badAt = now
	}
	l.base, l.history = baseline{}, slices.Clone(r.Windows)
	maps.Copy(l.base, r.Base)
	l.slow, l.late, l.older, l.losses = 0, 0, 0, newLosses(now)
	l.window = newWindow(now, l.Limit())
}
