package breaker

import "time"

// tally is the outcomes of one kind of work: those of the window, at most the newest
// maxOutcomes.
type tally struct {
	kind string
	// outcomes are their times; ^ marks the time of a failure.
	outcomes ring[time.Duration]
	failures ring[entry] // those among them
	newest   time.Duration
}

func (t *tally) add(cfg *Config, n entry) {
	t.prune(cfg, n.at)
	if t.outcomes.n == maxOutcomes {
		t.pop()
	}
	t.newest = n.at
	if n.failure != nil {
		t.failures.push(n, maxOutcomes)
		n.at = ^n.at
	}
	t.outcomes.push(n.at, maxOutcomes)
}

func (t *tally) prune(cfg *Config, now time.Duration) {
	for t.outcomes.n > 0 {
		at := *t.outcomes.at(0)
		if now-max(at, ^at) < cfg.FailureWindow {
			return
		}
		t.pop()
	}
}

func (t *tally) pop() {
	if t.outcomes.pop() < 0 {
		t.failures.pop()
	}
}

// tooBad is the ratio (CB-30). One failure alone is never one.
func (t *tally) tooBad(cfg *Config) bool {
	failed, all := t.failures.n, t.outcomes.n
	return failed >= 2 && all >= cfg.RatioMinimum && failed*100 >= cfg.RatioPercent*all
}
