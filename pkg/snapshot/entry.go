package snapshot

import (
	"sync"
	"sync/atomic"
	"time"
)

// entry is what is known of one key.
type entry[V any] struct {
	calm    atomic.Pointer[Snapshot[V]] // that of state while hits need not read the clock
	overlay atomic.Uint64               // the revision of the overlay
	state   atomic.Pointer[state[V]]    // the last good snapshot

	base   atomic.Pointer[base[V]] // of the list that began last among those that ended well; written under mu
	source atomic.Pointer[failure] // the last one of probe or list

	seq   atomic.Uint64 // numbers probes and lists in the order in which they begin
	ahead atomic.Bool   // a list ahead of MaxAge runs

	mu      sync.Mutex
	newest  word    // the last answer of a probe that a list needed
	lists   []*list // in flight: at most maxLists
	folding *folding[V]
	spoilt  *spoilt[V]
	timer   *time.Timer // ends calm; nil until it was first set
}

// word is what a probe said.
type word struct {
	token Token
	seq   uint64
}

// listing is what is known of a list from its begin on.
type listing struct {
	seq   uint64
	word  word // read before it began (GC-4)
	begun time.Duration
}

// base is what a list brought.
type base[V any] struct {
	listing
	value V
	took  time.Duration
}

// state is a base with the overlay folded in.
type state[V any] struct {
	base  *base[V]
	snap  *Snapshot[V]
	ahead time.Duration // the age from which a hit starts the next list; MaxAge without Ahead
	items int
	bytes int64
}

// need is what a Get needs of the entry: a state of the time when the Get began, or later.
type need struct {
	overlay uint64
	word    word
	after   uint64 // only a list with a higher number will do
	listed  bool   // a list that will do has ended, however long ago it began
}

// failure is one of a function of the options.
type failure struct {
	err error
	at  time.Duration
}

// paused reports whether the pause after f still lasts.
func (f *failure) paused(now, retry time.Duration) bool {
	return f != nil && young(f.at, now, retry)
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
	case b.seq <= n.after, !n.listed && !young(b.begun, now, maxAge):
		return aged
	}
	return hit
}

// why returns the state of e, and why it or its base does not meet n; hit when both do.
func (c *Cache[K, V]) why(e *entry[V], n need) (*state[V], cause) {
	b, st := e.base.Load(), e.state.Load()
	now := c.clock() // after both: else they may seem to lie in the future
	if st != nil && st.snap.overlay >= n.overlay && n.unfit(&st.base.listing, now, c.o.MaxAge) == hit {
		return st, hit
	}
	if b == nil {
		return st, cold
	}
	if lack := n.unfit(&b.listing, now, c.o.MaxAge); lack != hit {
		return st, lack
	}
	return st, overlay
}
