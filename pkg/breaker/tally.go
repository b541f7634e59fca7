package breaker

import (
	"slices"
	"time"
)

// tally is the outcomes of one kind of work: those of the window, at most the newest
// maxOutcomes.
type tally struct {
	kind     string
	outcomes ring[entry]
	failed   int // of outcomes
	newest   time.Duration
}

func (t *tally) add(cfg *Config, n entry) {
	t.forgetOld(cfg, n.at)
	if t.outcomes.n == maxOutcomes {
		t.pop()
	}
	t.outcomes.push(n, maxOutcomes)
	t.newest = n.at
	if n.failure != nil {
		t.failed++
	}
}

func (t *tally) forgetOld(cfg *Config, now time.Duration) {
	for t.outcomes.n > 0 && now-t.outcomes.at(0).at >= cfg.FailureWindow {
		t.pop()
	}
}

func (t *tally) pop() {
	if t.outcomes.pop().failure != nil {
		t.failed--
	}
}

// failures returns those among the outcomes, oldest first.
func (t *tally) failures() []entry {
	return slices.DeleteFunc(t.outcomes.slice(), func(n entry) bool { return n.failure == nil })
}
