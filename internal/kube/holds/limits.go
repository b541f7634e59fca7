package holds

import (
	"fmt"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// LoadLimits returns what Open has found of the limits, or was saved since; nothing where
// there was none. What cannot be read is an error; it stays until SaveLimits replaces it.
func (m *Map) LoadLimits() (sizing.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.openLocked(); err != nil {
		return sizing.State{}, err
	}
	kept := m.shards[limitShard]
	if kept.limits == "" {
		return sizing.State{}, nil
	}
	s, err := sizing.ParseState([]byte(kept.limits))
	if err != nil {
		return sizing.State{}, fmt.Errorf("limits in ConfigMap: %s of %s: %s: %w", kept.name, m.where, keyLimits, err)
	}
	return s, nil
}

// SaveLimits keeps the text of a sizing.State, beside holds. Where there is no room for both, it is
// left out, and the log says so. It fails as Save does; what failed is written with the next Save
// that writes there, and does not count as a hold that is not saved.
func (m *Map) SaveLimits(text []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.openLocked(); err != nil {
		return err
	}
	s := m.shards[limitShard]
	if s.limits != string(text) {
		s.limits, s.unsaved = string(text), true
	}
	if !s.unsaved {
		return nil
	}
	return m.writeLocked([]*shard{s})
}
