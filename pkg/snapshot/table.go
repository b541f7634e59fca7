package snapshot

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// table is a map that is read without a lock. A key that is new is found under the lock
// for a while, until that happened as often as a copy of the map has entries; so adding
// n keys costs O(n) in all. The zero value is empty.
type table[K comparable, E any] struct {
	read atomic.Pointer[map[K]*E] // never written once it is stored

	mu     sync.Mutex
	all    map[K]*E // a superset of read
	late   int      // reads that had to look in all
	closed bool
}

// find returns the entry of key, nil when there is none.
func (t *table[K, E]) find(key K) *E {
	if m := t.read.Load(); m != nil {
		if e := (*m)[key]; e != nil {
			return e
		}
	}
	return t.findLate(key)
}

// findLate is find for a key that is not in read.
func (t *table[K, E]) findLate(key K) *E {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.findLocked(key)
}

func (t *table[K, E]) findLocked(key K) *E {
	e := t.all[key]
	if e == nil {
		return nil
	}
	t.late++
	if t.late >= len(t.all) {
		t.publishLocked()
	}
	return e
}

func (t *table[K, E]) publishLocked() {
	m := maps.Clone(t.all)
	t.read.Store(&m)
	t.late = 0
}

// make returns the entry of key, made by create when there is none; nil when the table
// is closed.
func (t *table[K, E]) make(key K, create func() *E) *E {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	if e := t.findLocked(key); e != nil {
		return e
	}
	e := create()
	if t.all == nil {
		t.all = map[K]*E{}
	}
	t.all[key] = e
	return e
}

// keep drops all keys but these, and returns what it dropped.
func (t *table[K, E]) keep(keys []K) []*E {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := make(map[K]*E, len(keys)) // a new map: a Go map never shrinks
	for _, k := range keys {
		if e := t.all[k]; e != nil {
			kept[k] = e
			delete(t.all, k)
		}
	}
	dropped := slices.Collect(maps.Values(t.all))
	t.all = kept
	t.publishLocked()
	return dropped
}

// close drops everything for good, and returns it.
func (t *table[K, E]) close() []*E {
	t.mu.Lock()
	defer t.mu.Unlock()
	dropped := slices.Collect(maps.Values(t.all))
	t.closed, t.all = true, nil
	t.publishLocked()
	return dropped
}

// entries returns those of this moment.
func (t *table[K, E]) entries() []*E {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.all))
}
