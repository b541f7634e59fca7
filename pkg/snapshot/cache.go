package snapshot

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is the answer of a Cache after Close.
var ErrClosed = errors.New("snapshot: the cache is closed")

// Snapshot is a value as it was listed once. It is immutable and shared by all readers.
type Snapshot[V any] struct {
	value   V
	begun   time.Time
	overlay uint64 // the revision that is folded in
}

// Value returns what was listed, with the overlay folded in. It is shared: it must not
// be changed.
func (s *Snapshot[V]) Value() V { return s.value }

// Begun returns when the list began: what the source changed after that may be missing.
func (s *Snapshot[V]) Begun() time.Time { return s.begun }

// Cache is described in the package comment. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	o     Options[K, V]
	start time.Time // what clock counts from

	// entries is copied for each new key, and the map itself never written: so readers
	// need no lock. It is meant for few keys, all of which stay until Close.
	entries  atomic.Pointer[map[K]*entry[V]]
	counters counters

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex // guards closed and the replacement of entries
	closed  bool
	running sync.WaitGroup // Add under mu while not closed
}

// New returns an empty cache. Its error names every wrong option, its value and the
// rule.
func New[K comparable, V any](o Options[K, V]) (*Cache[K, V], error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.complete()
	c := &Cache[K, V]{o: o, start: time.Now()}
	if o.Now != nil {
		c.start = o.Now()
	}
	c.entries.Store(&map[K]*entry[V]{})
	c.ctx, c.cancel = context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	return c, nil
}

// clock returns the time since New. With the clock of the machine it is monotonic, and
// cheaper than time.Now, which reads the wall clock too.
func (c *Cache[K, V]) clock() time.Duration {
	if c.o.Now == nil {
		return time.Since(c.start)
	}
	return c.o.Now().Sub(c.start)
}

// Get returns the current snapshot of key: the cached one if nothing has changed, else
// that of a list that began after Get was called. Errors: that of a function of the
// options which failed, now or less than Retry ago; the error of ctx; ErrClosed.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (*Snapshot[V], error) {
	if e := c.find(key); e != nil {
		if snap := e.calmly(); snap != nil {
			c.counters.count(hit)
			return snap, nil
		}
	}
	snap, why, err := c.get(ctx, key)
	c.counters.count(why)
	return snap, err
}

// Peek returns what is cached of key, however old. It calls no function of the options and
// does not change the Stats.
func (c *Cache[K, V]) Peek(key K) (*Snapshot[V], bool) {
	e := c.find(key)
	if e == nil {
		return nil, false
	}
	st := e.state.Load()
	if st == nil {
		return nil, false
	}
	return st.snap, true
}

// Refold says that the overlay of key changed.
func (c *Cache[K, V]) Refold(key K) {
	if e := c.find(key); e != nil {
		e.overlay.Add(1)
	}
}

// Close drops everything, cancels what runs and waits for its end. Get fails from then
// on. It may be called more than once.
func (c *Cache[K, V]) Close() {
	c.mu.Lock()
	c.closed = true
	dropped := c.entries.Swap(&map[K]*entry[V]{})
	c.mu.Unlock()
	c.cancel()
	for _, e := range *dropped {
		e.stopCalm()
	}
	c.running.Wait()
}

// spawn runs f on a goroutine that Close waits for; false when the cache is closed.
func (c *Cache[K, V]) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Go(f)
	return true
}

// find returns the entry of key, nil when there is none.
func (c *Cache[K, V]) find(key K) *entry[V] { return (*c.entries.Load())[key] }

// entry returns that of key, a new one when there is none; nil when the cache is closed.
func (c *Cache[K, V]) entry(key K) *entry[V] {
	if e := c.find(key); e != nil {
		return e
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if e := c.find(key); e != nil {
		return e
	}
	all, e := maps.Clone(*c.entries.Load()), &entry[V]{}
	all[key] = e
	c.entries.Store(&all)
	return e
}
