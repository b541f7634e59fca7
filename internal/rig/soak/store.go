package soak

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// store is where holds outlive a process: eight ConfigMaps, or where there is one replica a file, which
// is replaced as a whole.
type store struct {
	shards [8]shard
	limits string
	rng    *rand.Rand
}

type shard struct {
	lines   map[string]string // by UUID, as Record.Line writes them
	writer  string
	written bool
}

// keeper is what a process knows of its saves.
type keeper struct {
	saving bool
	limits string
}

const (
	saveInterval   = 5 * time.Second
	limitsInterval = 30 * time.Second
)

func (w *world) newStore() {
	w.store.rng = stream(w.seed, 5)
	for i := range w.store.shards {
		w.store.shards[i].lines = map[string]string{}
	}
}

func (s *store) of(uuid string) *shard {
	n := 0
	for _, c := range []byte(uuid) {
		n += int(c)
	}
	return &s.shards[n%len(s.shards)]
}

// outcome of one write.
type outcome uint8

const (
	wrote       outcome = iota
	lost                // nothing is written, and the error is known
	lostAnswer          // it is written, and the writer hears of an error
	dieBefore           // the process is killed before the write
	dieAfter            // and after it
	outcomeLast = dieAfter
)

// fate draws what becomes of a write.
func (r *replica) fate() outcome {
	w := r.world
	if w.quiet || !w.style.faults.has(badStore) || !chance(w.store.rng, .15) {
		return wrote
	}
	w.tally.Faults[badStore]++
	return lost + outcome(w.store.rng.IntN(int(outcomeLast)))
}

// write makes one write, of put. It reports whether the writer knows that it was made.
func (r *replica) write(put func()) bool {
	if r.fence != nil && (r.cutFromAPI() || !r.fence.Passes(r.clock())) {
		return false
	}
	switch r.fate() {
	case lost:
		return false
	case lostAnswer:
		put()
		return false
	case dieBefore:
		r.die("killed before a write")
		return false
	case dieAfter:
		put()
		r.die("killed after a write")
		return false
	}
	put()
	return true
}

// claim takes the ConfigMaps over, one after the other, and then goes on.
func (r *replica) claim(then func()) {
	if r.fence == nil {
		then()
		return
	}
	life := r.life
	var next func(i int)
	next = func(i int) {
		if i == len(r.world.store.shards) {
			then()
			return
		}
		if r.write(func() { r.world.store.shards[i].writer = r.identity }) {
			i++
		}
		if r.life == life && r.up {
			r.after(between(r.rng, 5*time.Millisecond, 300*time.Millisecond), func() { next(i) })
		}
	}
	r.after(0, func() { next(0) })
}

// load reads all that is kept.
func (s *store) load(r *replica) (records []holdoff.Record, learned sizing.State) {
	for i := range s.shards {
		var uuids []string
		for uuid := range s.shards[i].lines {
			uuids = append(uuids, uuid)
		}
		slices.Sort(uuids)
		for _, uuid := range uuids {
			record, err := holdoff.ParseRecord([]byte(s.shards[i].lines[uuid]))
			if err != nil {
				r.world.failf("the record of %s: %v", uuid, err)
			}
			records = append(records, record)
		}
		s.shards[i].written = true
	}
	if s.limits != "" {
		var err error
		if learned, err = sizing.ParseState([]byte(s.limits)); err != nil {
			r.world.failf("what is known of limits: %v", err)
		}
	}
	return records, learned
}

// save writes what has changed, as internal/app does after each poll and every few seconds.
func (r *replica) save() {
	if r.keeper.saving || !r.begun {
		return
	}
	batch := r.c.UnsavedHolds(r.clock())
	if batch.Empty() {
		return
	}
	lines, err := batch.Lines()
	if err != nil {
		r.world.failf("%v", err)
		return
	}
	r.keeper.saving = true
	w, s := r.world, &r.world.store
	life := r.life
	all := true
	takes := between(s.rng, time.Millisecond, 100*time.Millisecond)
	if w.style.faults.has(badStore) && chance(s.rng, .1) {
		takes = between(s.rng, 0, 8*time.Second)
	}
	r.after(takes, func() {
		if r.fence == nil { // the file, as a whole
			all = r.write(func() {
				for i := range s.shards {
					r.put(&s.shards[i], lines, batch)
				}
			})
		} else {
			for i := range s.shards {
				sh := &s.shards[i]
				if !touches(s, sh, lines, batch) {
					continue
				}
				if sh.writer != r.identity {
					r.die("another process writes the holds")
					return
				}
				all = r.write(func() { r.put(sh, lines, batch) }) && all
				if r.life != life || !r.up {
					return
				}
			}
		}
		if r.life != life || !r.up {
			return
		}
		r.after(between(s.rng, 0, 50*time.Millisecond), func() {
			r.keeper.saving = false
			if all {
				r.c.SavedHolds(batch)
				w.tally.Saves++
				w.kept(batch)
			}
		})
	})
}

func touches(s *store, sh *shard, lines map[string][]byte, batch holdoff.Batch) bool {
	for uuid := range lines {
		if s.of(uuid) == sh {
			return true
		}
	}
	return slices.ContainsFunc(batch.Deletes, func(uuid string) bool { return s.of(uuid) == sh })
}

// put writes the part of a batch that belongs into sh.
func (r *replica) put(sh *shard, lines map[string][]byte, batch holdoff.Batch) {
	s := &r.world.store
	for uuid, line := range lines {
		if s.of(uuid) == sh {
			sh.lines[uuid] = string(line)
		}
	}
	for _, uuid := range batch.Deletes {
		if s.of(uuid) == sh {
			delete(sh.lines, uuid)
		}
	}
}

func (r *replica) saveTick() {
	r.save()
	r.after(saveInterval, r.saveTick)
}

func (r *replica) limitsTick() {
	text, err := r.c.LearnedLimits().Text()
	switch {
	case err != nil:
		r.world.failf("%v", err)
	case string(text) == r.keeper.limits:
	case r.fence != nil && r.world.store.shards[0].writer != r.identity:
		r.die("another process writes the holds")
		return
	case r.write(func() { r.world.store.limits = string(text) }):
		r.keeper.limits = string(text)
	}
	r.after(limitsInterval, r.limitsTick)
}
