package soak

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// store is where holds outlive a process: a ConfigMap, or where there is one replica a file. Its value is replaced as a whole.
type store struct {
	records []holdoff.Record
	limits  string
	writer  string
	rng     *rand.Rand
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

func (w *world) newStore() { w.store.rng = stream(w.seed, 5) }

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

// claim takes the ConfigMap over, and then goes on.
func (r *replica) claim(then func()) {
	if r.fence == nil {
		then()
		return
	}
	life := r.life
	var try func()
	try = func() {
		done := r.write(func() { r.world.store.writer = r.identity })
		if r.life != life || !r.up {
			return
		}
		next := try
		if done {
			next = then
		}
		r.after(between(r.rng, 5*time.Millisecond, 300*time.Millisecond), next)
	}
	r.after(0, try)
}

// load reads all that is kept.
func (s *store) load(r *replica) (records []holdoff.Record, learned sizing.State) {
	for _, kept := range s.records {
		line, err := kept.Line()
		if err == nil {
			kept, err = holdoff.ParseRecord(line)
		}
		if err != nil {
			r.world.failf("the record of %s: %v", kept.UUID, err)
		}
		records = append(records, kept)
	}
	if s.limits != "" {
		var err error
		if learned, err = sizing.ParseState([]byte(s.limits)); err != nil {
			r.world.failf("what is known of limits: %v", err)
		}
	}
	return records, learned
}

// save saves what has changed, as internal/store does after each poll and every few seconds.
func (r *replica) save() {
	if r.c.UnsavedHolds() > 0 {
		r.saveAll()
	}
}

// saveAll replaces the value.
func (r *replica) saveAll() {
	if r.keeper.saving || !r.begun {
		return
	}
	records, revision := r.c.HoldRecords(r.clock())
	slices.SortFunc(records, func(a, b holdoff.Record) int { return cmp.Compare(a.UUID, b.UUID) })
	limits := r.keeper.limits
	r.keeper.saving = true
	w, s := r.world, &r.world.store
	life := r.life
	takes := between(s.rng, time.Millisecond, 100*time.Millisecond)
	if w.style.faults.has(badStore) && chance(s.rng, .1) {
		takes = between(s.rng, 0, 8*time.Second)
	}
	r.after(takes, func() {
		if r.fence != nil && s.writer != r.identity {
			r.die("another process keeps the holds")
			return
		}
		done := r.write(func() { s.records, s.limits = records, limits })
		if r.life != life || !r.up {
			return
		}
		r.after(between(s.rng, 0, 50*time.Millisecond), func() {
			r.keeper.saving = false
			if done {
				r.c.SavedHolds(revision)
				w.tally.Saves++
				w.kept(records)
			}
		})
	})
}

func (r *replica) saveTick() {
	r.save()
	r.after(saveInterval, r.saveTick)
}

func (r *replica) limitsTick() {
	text, err := r.c.LearnedLimits().Text()
	if err != nil {
		r.world.failf("%v", err)
	}
	if r.keeper.limits = string(text); r.keeper.limits != r.world.store.limits { // found out by a look
		r.saveAll()
	}
	r.after(limitsInterval, r.limitsTick)
}
