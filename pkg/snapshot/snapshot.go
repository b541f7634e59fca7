package snapshot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is the error of Get after Close.
var ErrClosed = errors.New("snapshot: the cache is closed")

// Generation changes when a source does: as long as it is the same, lists bring the same.
type Generation uint64

// Options say what a Cache caches and for how long. The cache calls its functions from several goroutines at a time.
// They must not call Get or Close.
type Options[K comparable, V any] struct {
	// List asks the source for all of key: it returns a complete answer or an error. It must return soon after its ctx
	// ends. A panic becomes the error of Get. Required.
	List func(ctx context.Context, key K) (V, error)
	// Generation returns the generation of key. Each Get calls it, so it should only read a counter. Nil: only MaxAge
	// makes a cache list again.
	Generation func(key K) Generation

	MaxAge time.Duration    // how old a value may be, from the start of its list; above 0
	Retry  time.Duration    // how long the cache leaves the source alone after a failure; 0: it asks at once
	Ahead  bool             // a hit in the last quarter of MaxAge starts the next list, so that no Get waits for it
	Now    func() time.Time // nil: time.Now. If it goes backwards, the next Get lists
}

// Snapshot is the value that one list brought. All readers share it; it never changes.
type Snapshot[V any] struct {
	number uint64 // counts the lists of the cache, in the order in which they begin
	begun  time.Time
	done   chan struct{} // list closes it when it has set the fields below

	generation Generation // before the list began
	value      V
	err        error
}

// Value returns the value. All readers share it: do not change it.
func (s *Snapshot[V]) Value() V { return s.value }

// Begun returns when the list began. Later changes of the source may be missing in the value.
func (s *Snapshot[V]) Begun() time.Time { return s.begun }

// Stats count what a Cache did since New.
type Stats struct {
	Hits, Misses, Errors uint64 // Gets that found a value, waited for a list, or failed
	Lists                uint64 // lists that ended, also those that failed
}

// Cache shares values between readers, as the package comment says. Make one with New. It is safe for concurrent use.
// Use it for few keys: it keeps all of them until Close.
type Cache[K comparable, V any] struct {
	o      Options[K, V]
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	begun, ended         atomic.Uint64 // lists
	hits, misses, errors atomic.Uint64 // Gets

	mu      sync.Mutex // guards the fields below, and the entries; no list runs under it
	entries map[K]*entry[V]
	lists   sync.WaitGroup // lists that run; look adds one only while ctx lasts, so that Close can wait
}

// entry is what is known of one key.
type entry[V any] struct {
	last     *Snapshot[V] // of the last list that did not fail
	running  *Snapshot[V] // of the list that runs; nil: none
	err      error        // of the last list that ended
	failedAt time.Time    // when that was
}

// need says which snapshots satisfy a Get: those of the generation when it began, and those of later lists.
type need struct {
	generation Generation
	after      uint64 // the number of the last list that had begun
}

// New returns an empty cache. The error says which option is wrong.
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

// Get returns a snapshot of key: the one in the cache if its generation is that of now and it is younger than MaxAge,
// or else one of a list, which Get waits for. The error is that of the list, that of ctx, or ErrClosed.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (*Snapshot[V], error) {
	n := need{after: c.begun.Load()} // read before the generation, so that later lists have read the same or a later one
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

// met reports whether s, whose list has ended, satisfies n.
func met[V any](s *Snapshot[V], n need) bool {
	return s.generation == n.generation || s.number > n.after
}

// look returns the snapshot in the cache if it fits, or else that of the list that runs. If none runs, it starts one.
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

// list fills in s, and puts it into the cache if it does not fail.
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

// Stats returns the counts since New.
func (c *Cache[K, V]) Stats() Stats {
	return Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Errors: c.errors.Load(), Lists: c.ended.Load()}
}

// Close cancels the lists that run and waits for their end. From then on Get fails. A second Close does nothing.
func (c *Cache[K, V]) Close() {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.lists.Wait()
}
