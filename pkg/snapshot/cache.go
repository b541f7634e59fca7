package snapshot

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Cache is described in the package comment. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	o     Options[K, V]
	start time.Time // what clock counts from

	table    table[K, entry[V]]
	counters counters

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex
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
// that of a list that began after Get was called. Errors: *Error when a function of the
// options failed, now or less than Retry ago; the error of ctx; ErrClosed.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (*Snapshot[V], error) {
	if e := c.table.find(key); e != nil {
		snap := e.calmly()
		if snap == nil {
			snap = c.atOnce(e, key)
		}
		if snap != nil {
			c.counters.count(hit)
			return snap, nil
		}
	}
	snap, why, err := c.settle(ctx, key)
	c.counters.count(why)
	return snap, err
}

// GetStale is Get, except that when a function of the options fails it returns the last good
// snapshot, marked stale, if that is at most MaxStale old.
func (c *Cache[K, V]) GetStale(ctx context.Context, key K) (*Snapshot[V], error) {
	snap, err := c.Get(ctx, key)
	var fault *Error
	if !errors.As(err, &fault) {
		return snap, err
	}
	if e := c.table.find(key); e != nil {
		if last := e.lastGood(c.clock, c.o.MaxStale); last != nil {
			return last, nil
		}
	}
	return nil, err
}

// Peek returns what is cached of key, however old. It calls no function of the options and
// does not change the Stats.
func (c *Cache[K, V]) Peek(key K) (*Snapshot[V], bool) {
	e := c.table.find(key)
	if e == nil {
		return nil, false
	}
	st := e.state.Load()
	if st == nil {
		return nil, false
	}
	return st.snap, true
}

// Bump reports a change of key: the cached list, and one that is being read, are not
// used any more.
func (c *Cache[K, V]) Bump(key K) {
	if e := c.table.find(key); e != nil {
		e.events.Add(1)
	}
}

// Refold says that the overlay of key changed.
func (c *Cache[K, V]) Refold(key K) {
	if e := c.table.find(key); e != nil {
		e.overlay.Add(1)
	}
}

// RefoldAt says that the overlay of key changes at a time (GC-13): the first Get from
// then on folds it anew. Several times may be set; each is forgotten when it has passed.
func (c *Cache[K, V]) RefoldAt(key K, at time.Time) {
	if e := c.entry(key); e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.addEdgeLocked(at.Sub(c.start), c.clock())
		c.calmLocked(e)
	}
}

// Keep drops the entries of all keys but these. A dropped key that is used again is a new
// one, with another epoch and without the Bumps and times of the old one (GC-11).
func (c *Cache[K, V]) Keep(keys ...K) {
	for _, e := range c.table.keep(keys) {
		e.drop()
	}
}

// Close drops everything, cancels what runs and waits for its end. Get fails from then
// on. It may be called more than once.
func (c *Cache[K, V]) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	for _, e := range c.table.close() {
		e.drop()
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

// entry returns that of key, a new one when there is none; nil when the cache is closed.
func (c *Cache[K, V]) entry(key K) *entry[V] {
	if e := c.table.find(key); e != nil {
		return e
	}
	return c.table.make(key, func() *entry[V] { return newEntry[V](epochs.Add(1)) })
}
