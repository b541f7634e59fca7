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

// errGone is the failure of a List that ended its goroutine (runtime.Goexit).
var errGone = errors.New("the list ended without a result")

const defaultListTimeout = time.Minute

// Generation says whether a source changed: as long as it is the same, so is what a list brings.
type Generation uint64

// Options say what a Cache caches and for how long. Its functions may be called from several goroutines at a time;
// none of them may call Get for the key that it works on, or Close.
type Options[K comparable, V any] struct {
	// List asks the source for all of key: a complete answer or an error. It must end soon after its ctx does; a panic
	// is an error of Get. Required.
	List func(ctx context.Context, key K) (V, error)
	// Generation is that of key now. Each Get calls it: it should only read a counter. Nil: there is one, and age
	// decides.
	Generation func(key K) Generation

	MaxAge      time.Duration // an entry whose list began so long ago is listed again; above 0
	Retry       time.Duration // the pause after a failure before the source is asked again; 0: none
	ListTimeout time.Duration // bounds a list; 0: 1 min
	// Ahead: a hit shortly before MaxAge starts the next list, so that nobody has to wait for it. Shortly is twice the time
	// that the last list took, at most a quarter of MaxAge.
	Ahead bool
	Now   func() time.Time // nil: time.Now; one that goes backwards costs a list
}

// Snapshot is a value as it was listed once. It is immutable and shared by all readers.
type Snapshot[V any] struct {
	value      V
	begun      time.Time
	took       time.Duration
	generation Generation
	seq        uint64 // of its list
}

// Value returns what was listed. It is shared: it must not be changed.
func (s *Snapshot[V]) Value() V { return s.value }

// Begun returns when the list began: what the source changed after that may be missing.
func (s *Snapshot[V]) Begun() time.Time { return s.begun }

// Stats tell what a Cache did since New. Hits, Misses and Errors together are the Gets that ended.
type Stats struct {
	Hits, Misses, Errors uint64
	Lists                uint64        // that ended, well or not
	Age                  time.Duration // of the oldest snapshot that there is; 0: none
}

// Cache is described in the package comment. Make one with New. It is safe for concurrent use. It is meant for few
// keys: all stay until Close.
type Cache[K comparable, V any] struct {
	o       Options[K, V]
	entries sync.Map      // K → *entry[V]
	seq     atomic.Uint64 // numbers the lists in the order in which they begin

	hits, misses, errors, lists atomic.Uint64

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	mu      sync.Mutex     // guards the begin of lists against Close
	running sync.WaitGroup // of lists; Add under mu while ctx lasts
}

// entry is what is known of one key.
type entry[V any] struct {
	last atomic.Pointer[Snapshot[V]] // of the last list that ended well

	mu       sync.Mutex // guards what follows
	flight   *flight[V] // the list that runs
	err      error      // of the list that ended last
	failedAt time.Time
}

// flight is a list that runs, for all Gets that it will do for.
type flight[V any] struct {
	seq        uint64
	done       chan struct{} // closed at the end; what follows is set then
	generation Generation    // read before the list began
	snap       *Snapshot[V]
	err        error
}

// need is what a Get asks for: the generation at its begin, or a list that began after it.
type need struct {
	generation Generation
	after      uint64
}

// met reports whether a list of that generation and number is such a one.
func (n need) met(generation Generation, seq uint64) bool {
	return generation == n.generation || seq > n.after
}

// New returns an empty cache. Its error names every wrong option, its value and the rule.
func New[K comparable, V any](o Options[K, V]) (*Cache[K, V], error) {
	var errs []error
	if o.List == nil {
		errs = append(errs, errors.New("snapshot: List is nil; it is required"))
	}
	if o.MaxAge <= 0 {
		errs = append(errs, fmt.Errorf("snapshot: MaxAge is %v; must be more than 0", o.MaxAge))
	}
	if o.Retry < 0 || o.ListTimeout < 0 {
		errs = append(errs, fmt.Errorf("snapshot: Retry is %v, ListTimeout %v; must not be negative", o.Retry, o.ListTimeout))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if o.ListTimeout == 0 {
		o.ListTimeout = defaultListTimeout
	}
	if o.Generation == nil {
		o.Generation = func(K) Generation { return 0 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Cache[K, V]{o: o}
	c.ctx, c.cancel = context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	return c, nil
}

// Get returns the snapshot of key: the one that is there if its generation stands and it is young, else that of a list
// that began after Get was called, or of the same generation. Errors: that of the list; the error of ctx; ErrClosed.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (*Snapshot[V], error) {
	e := c.entry(key)
	n := need{after: c.seq.Load()} // before the generation: a later list has read a later one
	n.generation = c.o.Generation(key)
	snap, age, ok := c.fitting(e, n)
	if ok {
		c.hits.Add(1)
		if c.o.Ahead && age >= c.o.MaxAge-min(2*snap.took, c.o.MaxAge/4) {
			c.ahead(e, key, snap)
		}
		return snap, nil
	}
	snap, err := c.wait(ctx, e, key, n)
	if err != nil {
		c.errors.Add(1)
		return nil, err
	}
	c.misses.Add(1)
	return snap, nil
}

// fitting returns the last snapshot and its age if it is what n needs.
func (c *Cache[K, V]) fitting(e *entry[V], n need) (snap *Snapshot[V], age time.Duration, ok bool) {
	if snap = e.last.Load(); snap == nil || c.ctx.Err() != nil {
		return nil, 0, false
	}
	age = c.o.Now().Sub(snap.begun)
	return snap, age, n.met(snap.generation, snap.seq) && age >= 0 && age < c.o.MaxAge
}

// wait waits for lists until one brings what n needs.
func (c *Cache[K, V]) wait(ctx context.Context, e *entry[V], key K, n need) (*Snapshot[V], error) {
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e.mu.Lock()
		snap, _, ok := c.fitting(e, n)
		if ok { // another Get has had it listed
			e.mu.Unlock()
			return snap, nil
		}
		f, err := c.joinLocked(e, key)
		e.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.ctx.Done():
			return nil, ErrClosed
		}
		if n.met(f.generation, f.seq) {
			return f.snap, f.err
		}
	}
}

// ahead starts the list that is to follow snap, unless it is there by now.
func (c *Cache[K, V]) ahead(e *entry[V], key K, snap *Snapshot[V]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last.Load() == snap {
		_, _ = c.joinLocked(e, key) // an error is told to whoever waits for a list
	}
}

// joinLocked returns the list that runs, a new one where there is none; or the error that forbids one for now.
func (c *Cache[K, V]) joinLocked(e *entry[V], key K) (*flight[V], error) {
	if e.flight != nil {
		return e.flight, nil
	}
	if pause := c.o.Now().Sub(e.failedAt); e.err != nil && pause >= 0 && pause < c.o.Retry {
		return nil, e.err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, ErrClosed
	}
	e.flight = &flight[V]{seq: c.seq.Add(1), done: make(chan struct{}), err: errGone}
	f := e.flight
	c.running.Go(func() { c.list(e, key, f) })
	return f, nil
}

// list runs f to its end and keeps what it brought.
func (c *Cache[K, V]) list(e *entry[V], key K, f *flight[V]) {
	ctx, cancel := context.WithTimeout(c.ctx, c.o.ListTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			f.err = fmt.Errorf("panic: %v", v)
		}
		if f.err != nil && c.ctx.Err() != nil {
			f.err = ErrClosed
		}
		c.lists.Add(1)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.flight, e.err, e.failedAt = nil, f.err, c.o.Now()
		if f.err == nil {
			e.last.Store(f.snap)
		}
		close(f.done)
	}()
	begun := c.o.Now()
	f.generation = c.o.Generation(key)
	value, err := c.o.List(ctx, key)
	if f.err = err; err == nil {
		took := c.o.Now().Sub(begun)
		f.snap = &Snapshot[V]{value: value, begun: begun, took: took, generation: f.generation, seq: f.seq}
	}
}

// Peek returns what is there of key, however old. It calls no function of the options and does not change the Stats.
func (c *Cache[K, V]) Peek(key K) (*Snapshot[V], bool) {
	snap := c.entry(key).last.Load()
	return snap, snap != nil && c.ctx.Err() == nil
}

// Stats returns the counts.
func (c *Cache[K, V]) Stats() Stats {
	s := Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Errors: c.errors.Load(), Lists: c.lists.Load()}
	c.entries.Range(func(_, e any) bool {
		if snap := e.(*entry[V]).last.Load(); snap != nil {
			s.Age = max(s.Age, c.o.Now().Sub(snap.begun))
		}
		return true
	})
	return s
}

// Close cancels what runs and waits for its end. Get fails from then on. It may be called more than once.
func (c *Cache[K, V]) Close() {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.running.Wait()
}

func (c *Cache[K, V]) entry(key K) *entry[V] {
	e, ok := c.entries.Load(key)
	if !ok {
		e, _ = c.entries.LoadOrStore(key, &entry[V]{})
	}
	return e.(*entry[V])
}
