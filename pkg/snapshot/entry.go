package snapshot

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// never is a time that does not come; times are counted from New.
const never = time.Duration(math.MaxInt64)

// entry is what is known of one key.
type entry[V any] struct {
	epoch uint64

	// What a hit reads. While calm is set, it, events and overlay are all: it is the
	// snapshot of state, and no time of state, word and edge comes soon.
	calm    atomic.Pointer[Snapshot[V]]
	events  atomic.Uint64
	overlay atomic.Uint64
	edge    atomic.Int64             // the next time at which the overlay changes, or never
	word    atomic.Pointer[word]     // the newest word of a shared probe
	state   atomic.Pointer[state[V]] // the last good snapshot

	base   atomic.Pointer[base[V]] // of the list that began last among those that ended well; written under mu
	source atomic.Pointer[failure] // the last one of probe or list

	seq   atomic.Uint64 // numbers probes and lists in the order in which they begin
	ahead atomic.Bool   // a list ahead of MaxAge runs

	mu      sync.Mutex
	edges   []time.Duration // to come, ascending
	newest  word            // that a list needed; so the words of lists are in their order
	lists   []*list         // that run, abandoned ones too: at most maxLists
	folding *folding[V]
	asking  *asking
	spoilt  *spoilt[V]
	timer   *time.Timer // ends calm; nil until it was first set
	gone    bool        // dropped
}

func newEntry[V any](epoch uint64) *entry[V] {
	e := &entry[V]{epoch: epoch}
	e.edge.Store(int64(never))
	return e
}

// word is what a probe said.
type word struct {
	token Token
	seq   uint64
	began time.Duration
}

// listing is what is known of a list from its begin on.
type listing struct {
	seq    uint64
	events uint64 // read before it began (GC-4)
	word   word   // likewise
	begun  time.Duration
}

// base is what a list brought.
type base[V any] struct {
	listing
	value V
	took  time.Duration
}

// state is a base with the overlay folded in.
type state[V any] struct {
	base    *base[V]
	snap    *Snapshot[V]
	until   time.Duration // MaxAge after the list began
	aheadAt time.Duration
	items   int
	bytes   int64

	stale atomic.Pointer[Snapshot[V]] // snap marked stale, made when it is first needed
}

// need is what a Get needs of the entry: a state of the time when the Get began, or later.
type need struct {
	events  uint64
	overlay uint64
	word    word
	after   uint64 // only a list with a higher number will do
	listed  bool   // a list that will do has ended, however long ago it began
}

// failure is one of a function of the options.
type failure struct {
	err *Error
	at  time.Duration
}

// paused reports whether the pause after f still lasts.
func (f *failure) paused(now, retry time.Duration) bool {
	if f == nil || retry < 0 {
		return false
	}
	since := now - f.at
	return since >= 0 && since < retry
}

// spoilt is an overlay that could not be folded into a base.
type spoilt[V any] struct {
	failure
	base    *base[V]
	overlay uint64
}

// young reports whether begun is less than limit ago, and not in the future, where only
// a clock that went back puts it.
func young(begun, now, limit time.Duration) bool {
	age := now - begun
	return age >= 0 && age < limit
}

// unfit returns why the answer of b does not meet n; hit when it does.
func (n need) unfit(b *listing, now, maxAge time.Duration) cause {
	switch {
	case b.word.token != n.word.token && b.word.seq < n.word.seq:
		return probe
	case b.events < n.events:
		return event
	case b.seq <= n.after, !n.listed && !young(b.begun, now, maxAge):
		return aged
	}
	return hit
}

// why returns the state, and why it or its base does not meet n; hit when both do.
func (e *entry[V]) why(n need, now, maxAge time.Duration) (*state[V], cause) {
	b, st := e.base.Load(), e.state.Load()
	if st != nil && st.snap.gen.Overlay >= n.overlay && n.unfit(&st.base.listing, now, maxAge) == hit {
		return st, hit
	}
	if b == nil {
		return st, cold
	}
	if lack := n.unfit(&b.listing, now, maxAge); lack != hit {
		return st, lack
	}
	return st, overlay
}

// lastGood returns the last good snapshot, marked stale; nil when that is too old.
func (e *entry[V]) lastGood(clock func() time.Duration, maxStale time.Duration) *Snapshot[V] {
	st := e.state.Load()
	if st == nil {
		return nil
	}
	if age := clock() - st.base.begun; age < 0 || age > maxStale {
		return nil
	}
	if twin := st.stale.Load(); twin != nil {
		return twin
	}
	twin := *st.snap
	twin.stale = true
	st.stale.CompareAndSwap(nil, &twin)
	return st.stale.Load()
}

// addEdgeLocked records that the overlay changes at a time.
func (e *entry[V]) addEdgeLocked(at, now time.Duration) {
	i, known := slices.BinarySearch(e.edges, at)
	if !known {
		e.edges = slices.Insert(e.edges, i, at)
	}
	e.passLocked(now)
}

// pass bumps the overlay's revision if one of its times has passed (GC-13).
func (c *Cache[K, V]) pass(e *entry[V]) {
	edge := time.Duration(e.edge.Load())
	if edge == never || c.clock() < edge {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.passLocked(c.clock())
}

func (e *entry[V]) passLocked(now time.Duration) {
	i, found := slices.BinarySearch(e.edges, now)
	if found {
		i++
	}
	next := never
	if i < len(e.edges) {
		next = e.edges[i]
	}
	if i > 0 {
		e.edges = slices.Delete(e.edges, 0, i)
		e.overlay.Add(1) // before edge: who sees the new edge sees the new revision
	}
	e.edge.Store(int64(next))
}
