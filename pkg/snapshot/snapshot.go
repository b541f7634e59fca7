package snapshot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is the answer of a Cache after Close.
var ErrClosed = errors.New("snapshot: the cache is closed")

// Generation says whether a source changed: as long as it is the same, so is what a list brings.
type Generation uint64

// Options say what a Cache caches and for how long. Its functions may be called from several goroutines at a time; none
// of them may call Get or Close.
type Options[K comparable, V any] struct {
	// List asks the source for all of key: a complete answer or an error. It must end soon after its ctx does; a panic
	// is an error of Get. Required.
	List func(ctx context.Context, key K) (V, error)
	// Generation is that of key now. Each Get calls it: it should only read a counter. Nil: there is one, and age
	// decides.
	Generation func(key K) Generation

	MaxAge time.Duration    // an entry whose list began so long ago is listed again; above 0
	Retry  time.Duration    // the pause after a failure before the source is asked again; 0: none
	Ahead  bool             // a hit in the last quarter of MaxAge starts the next list, so that nobody has to wait for it
	Now    func() time.Time // nil: time.Now; one that goes backwards costs a list
}

// Snapshot is a value as it was listed once. It is immutable and shared by all readers.
type Snapshot[V any] struct {
	number uint64 // of its list, in the order in which they begin
	begun  time.Time
	done   chan struct{} // closed at the end of the list; what follows is set then

	generation Generation // read before the list began
	value      V
	err        error
}

// Value returns what was listed. It is shared: it must not be changed.
func (s *Snapshot[V]) Value() V { return s.value }

// Begun returns when the list began: what the source changed after that may be missing.
func (s *Snapshot[V]) Begun() time.Time { return s.begun }

// Stats tell what a Cache did since New. Hits, Misses and Errors together are the Gets that ended.
type Stats struct {
	Hits, Misses, Errors uint64
	Lists                uint64 // that ended, well or not
}

// Cache is described in the package comment. Make one with New. It is safe for concurrent use. It is meant for few
// keys: all stay until Close.
type Cache[K comparable, V any] struct {
	o      Options[K, V]
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	begun, ended         atomic.Uint64 // lists
	hits, misses, errors atomic.Uint64

	mu      sync.Mutex // guards what follows; nobody lists or waits under it
	entries map[K]*entry[V]
	lists   sync.WaitGroup // that run; Add under mu while ctx lasts
}

// entry is what is known of one key.
type entry[V any] struct {
	last     *Snapshot[V] // that was listed well
	running  *Snapshot[V] // that is being listed
	err      error        // of the list that ended last
	failedAt time.Time
}

// need is what a Get asks for: the generation at its begin, or a list that began after it.
type need struct {
	generation Generation
	after      uint64
}

// New returns an empty cache.
func New[K comparable, V any](o Options[K, V]) (*Cache[K, V], error) {
	if o.List == nil {
		return nil, errors.New("snapshot: List is nil; it is required")
	}
	if o.MaxAge <= 0 {
		return nil, fmt.Errorf("snapshot: MaxAge is %v; must be more than 0", o.MaxAge)
	}
	if o.Generation == nil {
		o.Generation = func(K) Generation { return 0 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Cache[K, V]{o: o, entries: map[K]*entry[V]{}}
	c.ctx, c.cancel = context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	return c, nil
}

// Get returns the snapshot of key: the one that is there if its generation stands and it is young, else that of a list
// that began after Get was called, or of the same generation. Errors: that of the list; the error of ctx; ErrClosed.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (*Snapshot[V], error) {
	n := need{after: c.begun.Load()} // before the generation: a later list has read a later one
	n.generation = c.o.Generation(key)
	s, fits, err := c.look(ctx, key, n)
	if fits {
		c.hits.Add(1)
		return s, nil
	}
	for err == nil && !fits {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-s.done:
			if fits = met(s, n); fits {
				err = s.err
			} else {
				s, fits, err = c.look(ctx, key, n)
			}
		}
	}
	if err != nil {
		c.errors.Add(1)
		return nil, err
	}
	c.misses.Add(1)
	return s, nil
}

// met reports whether a list that has ended is one that n asks for.
func met[V any](s *Snapshot[V], n need) bool {
	return s.generation == n.generation || s.number > n.after
}

// look returns what is there if it fits, else the list that runs, which it starts if there is none.
func (c *Cache[K, V]) look(ctx context.Context, key K, n need) (s *Snapshot[V], fits bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, false, ErrClosed
	}
	e := c.entries[key]
	if e == nil {
		e = &entry[V]{}
		c.entries[key] = e
	}
	now, due := c.o.Now(), true
	if e.last != nil && met(e.last, n) {
		age := now.Sub(e.last.begun)
		fits = age >= 0 && age < c.o.MaxAge
		due = !fits || c.o.Ahead && age >= c.o.MaxAge*3/4
	}
	if !fits && ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	pause := now.Sub(e.failedAt)
	if resting := e.err != nil && pause >= 0 && pause < c.o.Retry; due && e.running == nil && !resting {
		next := &Snapshot[V]{number: c.begun.Add(1), begun: now, done: make(chan struct{})}
		e.running = next
		c.lists.Go(func() { c.list(key, e, next) })
	}
	switch {
	case fits:
		return e.last, true, nil
	case e.running == nil:
		return nil, false, e.err
	}
	return e.running, false, nil
}

// list runs s to its end and keeps what it brought.
func (c *Cache[K, V]) list(key K, e *entry[V], s *Snapshot[V]) {
	defer func() {
		if v := recover(); v != nil {
			s.err = fmt.Errorf("panic: %v", v)
		}
		if s.err != nil && c.ctx.Err() != nil {
			s.err = ErrClosed
		}
		c.ended.Add(1)
		c.mu.Lock()
		defer c.mu.Unlock()
		e.running, e.err, e.failedAt = nil, s.err, c.o.Now()
		if s.err == nil {
			e.last = s
		}
		close(s.done)
	}()
	s.generation = c.o.Generation(key)
	s.value, s.err = c.o.List(c.ctx, key)
}

// Stats returns the counts.
func (c *Cache[K, V]) Stats() Stats {
	return Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Errors: c.errors.Load(), Lists: c.ended.Load()}
}

// Close cancels what runs and waits for its end. Get fails from then on. It may be called more than once.
func (c *Cache[K, V]) Close() {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.lists.Wait()
}
