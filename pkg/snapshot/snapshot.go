package snapshot

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// Snapshot is a value as it was listed once. It is immutable and shared by all readers.
type Snapshot[V any] struct {
	value V
	gen   Generation
	begun time.Time
	stale bool
}

// Value returns what was listed, with the overlay folded in. It is shared: it must not
// be changed.
func (s *Snapshot[V]) Value() V { return s.value }

// Generation returns the tuple that the value belongs to.
func (s *Snapshot[V]) Generation() Generation { return s.gen }

// Begun returns when the list began: what the source changed after that may be missing.
func (s *Snapshot[V]) Begun() time.Time { return s.begun }

// Age returns the time from the begin of the list to now.
func (s *Snapshot[V]) Age(now time.Time) time.Duration { return now.Sub(s.begun) }

// Stale reports whether the snapshot is an older one, given because the source fails.
func (s *Snapshot[V]) Stale() bool { return s.stale }

// Rows is a list of values that nobody can change: no slice of it gets out (GC-10).
// What the values point at is not protected. The zero value is empty.
type Rows[T any] struct{ rows []T }

// RowsOf returns a copy of rows.
func RowsOf[T any](rows []T) Rows[T] { return Rows[T]{slices.Clone(rows)} }

// Len returns the number of rows.
func (r Rows[T]) Len() int { return len(r.rows) }

// At returns row i, counted from 0. Like a slice it panics when there is none.
func (r Rows[T]) At(i int) T { return r.rows[i] }

// All yields the rows in order, each with its number.
func (r Rows[T]) All() iter.Seq2[int, T] { return slices.All(r.rows) }

// Map is a map that nobody can change: it never gets out (GC-10). What the values point
// at is not protected. The zero value is empty.
type Map[K comparable, V any] struct{ m map[K]V }

// MapOf returns a copy of m.
func MapOf[K comparable, V any](m map[K]V) Map[K, V] { return Map[K, V]{maps.Clone(m)} }

// Len returns the number of keys.
func (m Map[K, V]) Len() int { return len(m.m) }

// Get returns the value of key, and whether there is one.
func (m Map[K, V]) Get(key K) (V, bool) {
	v, ok := m.m[key]
	return v, ok
}

// All yields keys and values in no order.
func (m Map[K, V]) All() iter.Seq2[K, V] { return maps.All(m.m) }
