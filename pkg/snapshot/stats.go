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
	event
	overlay
	aged
	failed
	causes
)

// Misses count Gets that were no hits, by cause (GC-16). Where several causes hold, the
// first in this order counts.
type Misses struct {
	// Error: Get failed, or gave a stale snapshot because of a failure.
	Error uint64
	// Cold: nothing was there.
	Cold uint64
	// Probe, Event: that field of the generation had moved.
	Probe, Event uint64
	// Age: the entry was MaxAge old, or the clock went back.
	Age uint64
	// Overlay: the overlay alone had moved; no list.
	Overlay uint64
}

// Sum returns all misses.
func (m Misses) Sum() uint64 { return m.Error + m.Cold + m.Probe + m.Event + m.Age + m.Overlay }

// Stats tell what a Cache did since New, and what it holds (GC-16).
type Stats struct {
	// Gets that ended, GetStale included: always Hits + Misses.Sum().
	Gets, Hits uint64
	Misses     Misses
	// Waits are those for a list or an overlay that another Get had begun.
	Waits uint64
	// Probes, Builds and Folds are the calls of Probe, List and Overlay that ended;
	// Failures of them failed, for another reason than that nobody waited.
	Probes, Builds, Folds, Failures uint64
	// Listing is the time that all calls of List took.
	Listing time.Duration
	// Entries are the keys with a snapshot; Items and Bytes their Sizes.
	Entries, Items int
	Bytes          int64
	// Oldest is the age of the oldest of these snapshots, at least 0.
	Oldest time.Duration
}

// counters are what Stats count. Every Get counts once, when it ends.
type counters struct {
	_        [64]byte // hits is written by all readers: nothing else on its cache line
	hits     atomic.Uint64
	_        [64]byte
	misses   [causes]atomic.Uint64
	waits    atomic.Uint64
	probes   atomic.Uint64
	builds   atomic.Uint64
	folds    atomic.Uint64
	failures atomic.Uint64
	listing  atomic.Int64
}

// count counts one Get that found no hit without asking.
func (n *counters) count(why cause) {
	if why == hit {
		n.hits.Add(1)
		return
	}
	n.misses[why].Add(1)
}

// Stats returns the counts and sizes. Gets is taken from the parts, so that the sum is
// right while Gets run.
func (c *Cache[K, V]) Stats() Stats {
	n := &c.counters
	s := Stats{
		Hits: n.hits.Load(),
		Misses: Misses{
			Error: n.misses[failed].Load(), Cold: n.misses[cold].Load(), Probe: n.misses[probe].Load(),
			Event: n.misses[event].Load(), Age: n.misses[aged].Load(), Overlay: n.misses[overlay].Load(),
		},
		Waits: n.waits.Load(), Probes: n.probes.Load(), Builds: n.builds.Load(), Folds: n.folds.Load(),
		Failures: n.failures.Load(), Listing: time.Duration(n.listing.Load()),
	}
	s.Gets = s.Hits + s.Misses.Sum()
	for _, e := range c.table.entries() {
		st := e.state.Load()
		if st == nil {
			continue
		}
		s.Entries++
		s.Items += st.items
		s.Bytes += st.bytes
		s.Oldest = max(s.Oldest, c.clock()-st.base.begun)
	}
	return s
}
