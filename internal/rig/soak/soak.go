package soak

// Result is one history.
type Result struct {
	Seed   uint64
	Hash   uint64 // of all that happened
	Broken string // the law that it broke; "": none
	Tally  Tally
	Story  []string // of a history that was told
	Faults []string // the kinds that came
}

// Play plays the history of a seed.
func Play(seed uint64) Result { return play(seed, allFaults, false) }

const allFaults = mask(1<<faultKinds - 1)

func play(seed uint64, allowed mask, verbose bool) Result {
	w := newWorld(seed, allowed)
	w.verbose = verbose
	w.play()
	return Result{Seed: seed, Hash: w.digest, Broken: w.broken, Tally: w.tally, Story: w.story, Faults: w.style.faults.names()}
}

// Shrink plays a history that failed again with as few kinds of faults as it still fails with, and tells it.
func Shrink(seed uint64) Result {
	return play(seed, shrink(func(allowed mask) bool { return play(seed, allowed, false).Broken != "" }), true)
}

// shrink leaves out each kind of fault without which the history is still broken.
func shrink(broken func(allowed mask) bool) mask {
	allowed := allFaults
	for f := range faultKinds {
		if less := allowed &^ (1 << f); broken(less) {
			allowed = less
		}
	}
	return allowed
}

func (m mask) names() []string {
	var names []string
	for f := range faultKinds {
		if m.has(f) {
			names = append(names, faultNames[f])
		}
	}
	return names
}

// Tell plays the history of a seed and tells it.
func Tell(seed uint64) Result { return play(seed, allFaults, true) }
