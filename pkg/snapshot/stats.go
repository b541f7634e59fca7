package snapshot

import (
	"sync/atomic"
	"time"
)

// cause is why a Get was no hit.
type cause int

const (
	hit cause = iota
	cold
	probe
	overlay
	aged
	failed
	causes
)

// Misses count Gets that were no hits, by cause (GC-16). Where several causes hold, the
// first in this order counts.
type Misses struct {
	// Error: Get failed.
	Error uint64
	// Cold: nothing was there.
	Cold uint64
	// Probe: the source had changed.
	Probe uint64
	// Age: the entry was MaxAge old, or the clock went back.
	Age uint64
	// Overlay: the overlay alone had changed; no list.
	Overlay uint64
}

// Stats tell what a Cache did since New, and what it holds (GC-16). Hits and Misses
// together are the Gets that ended.
type Stats struct {
	Hits   uint64
	Misses Misses
	// Waits are those for a list or an overlay that another Get had begun.
	Waits uint64
	// Builds are the calls of List that ended, Listing is the time that they took.
	Builds  uint64
	Listing time.Duration
	// Items and Bytes are the Sizes of all snapshots that there are.
	Items int
	Bytes int64
	// Oldest is the age of the oldest of these snapshots, at least 0.
	Oldest time.Duration
}

// counters are what Stats count. Every Get counts once, when it ends.
type counters struct {
	_       [64]byte // hits is written by all readers: nothing else on its cache line
	hits    atomic.Uint64
	_       [64]byte
	misses  [causes]atomic.Uint64
	waits   atomic.Uint64
	builds  atomic.Uint64
	listing atomic.Int64
}

// count counts one Get that has ended.
func (n *counters) count(why cause) {
	if why == hit {
		n.hits.Add(1)
		return
	}
	n.misses[why].Add(1)
}

// Stats returns the counts and sizes.
func (c *Cache[K, V]) Stats() Stats {
	n := &c.counters
	s := Stats{
		Hits: n.hits.Load(),
		Misses: Misses{
			Error: n.misses[failed].Load(), Cold: n.misses[cold].Load(), Probe: n.misses[probe].Load(),
			Age: n.misses[aged].Load(), Overlay: n.misses[overlay].Load(),
		},
		Waits: n.waits.Load(), Builds: n.builds.Load(), Listing: time.Duration(n.listing.Load()),
	}
	for _, e := range *c.entries.Load() {
		st := e.state.Load()
		if st == nil {
			continue
		}
		s.Items += st.items
		s.Bytes += st.bytes
		s.Oldest = max(s.Oldest, c.clock()-st.base.begun)
	}
	return s
}
