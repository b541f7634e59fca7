package breaker

import (
	"slices"
	"strings"
	"time"
)

// outcome is how a work ended, made before any lock is taken.
type outcome struct {
	Work
	failed bool
	cause  string
}

func success(w Work) *outcome { return &outcome{Work: w} }

func failure(w Work, err error) *outcome {
	return &outcome{Work: w, failed: true, cause: causeOf(err)}
}

// entry is an outcome that counts, with its time.
type entry struct {
	outcome
	at time.Duration
}

// evidence is what a CLOSED circuit knows of the work that ended. The zero value is
// empty. It stays for show while the circuit is OPEN or HALF_OPEN.
type evidence struct {
	// run is the failures that count towards the threshold, oldest first.
	run []entry
	// tallies hold the outcomes by kind of work, for the ratio.
	tallies []tally
	hosts   hosts
}

// tally is the outcomes of one kind of work, the newest maxOutcomes of the window.
type tally struct {
	kind     string
	outcomes ring[entry]
	failed   int
}

// add counts o and returns the failures that it now opens for, nil for none, with
// the total that they are a share of, 0 when they are a run.
func (e *evidence) add(cfg *Config, now time.Duration, o *outcome) (failures []entry, of int) {
	e.prune(cfg, now)
	if o.failed && o.Host != "" && !e.countsOf(cfg, now, o.Host) {
		return nil, 0
	}
	n := entry{outcome: *o, at: now}
	if o.failed {
		n.Host, n.Kind = strings.Clone(o.Host), strings.Clone(o.Kind)
		e.run = append(e.run, n)
	} else if len(e.run) > 0 && cfg.Mode == Consecutive {
		e.run = slices.DeleteFunc(e.run, func(f entry) bool { return f.Kind == o.Kind })
	}
	t := e.tally(cfg, n)
	switch {
	case len(e.run) >= cfg.FailureThreshold:
		return e.run, 0
	case t != nil && t.tooBad(cfg):
		return t.failures(), t.outcomes.n
	}
	return nil, 0
}

// countsOf notes a failure of host and reports whether it counts: once in a window,
// and again only after the host has been quiet for one. When there were too many
// hosts to know them all, what counts already still says no.
func (e *evidence) countsOf(cfg *Config, now time.Duration, host string) bool {
	if e.hosts.failed(host, now, cfg.FailureWindow) {
		return false
	}
	if slices.ContainsFunc(e.run, func(f entry) bool { return f.Host == host }) {
		return false
	}
	for i := range e.tallies {
		if slices.ContainsFunc(e.tallies[i].failures(), func(f entry) bool { return f.Host == host }) {
			return false
		}
	}
	return true
}

// tally puts n to the outcomes of its kind; nil when no ratio is judged.
func (e *evidence) tally(cfg *Config, n entry) *tally {
	if cfg.RatioPercent == 0 {
		return nil
	}
	i := slices.IndexFunc(e.tallies, func(t tally) bool { return t.kind == n.Kind })
	if i < 0 {
		if len(e.tallies) >= maxKinds { // the kind that ended longest ago makes room
			old := slices.MinFunc(e.tallies, func(a, b tally) int { return int(a.newest() - b.newest()) })
			e.tallies = slices.DeleteFunc(e.tallies, func(t tally) bool { return t.kind == old.kind })
		}
		e.tallies = append(e.tallies, tally{kind: strings.Clone(n.Kind)})
		i = len(e.tallies) - 1
	}
	t := &e.tallies[i]
	n.Kind = t.kind
	if !n.failed {
		n.Host = "" // is of no use
	}
	t.prune(cfg, n.at)
	if oldest, dropped := t.outcomes.push(n, maxOutcomes); dropped && oldest.failed {
		t.failed--
	}
	if n.failed {
		t.failed++
	}
	return t
}

func (t *tally) newest() time.Duration {
	if t.outcomes.n == 0 {
		return 0
	}
	return t.outcomes.at(t.outcomes.n - 1).at
}

// tooBad is the ratio of CONTRACT 3.1. One failure alone is never a ratio.
func (t *tally) tooBad(cfg *Config) bool {
	return t.outcomes.n >= cfg.RatioMinimum && t.failed >= 2 && t.failed*100 >= cfg.RatioPercent*t.outcomes.n
}

func (t *tally) failures() []entry {
	if t.failed == 0 {
		return nil
	}
	failures := make([]entry, 0, t.failed)
	for i := range t.outcomes.n {
		if n := t.outcomes.at(i); n.failed {
			failures = append(failures, *n)
		}
	}
	return failures
}

func (t *tally) prune(cfg *Config, now time.Duration) {
	for t.outcomes.n > 0 && now-t.outcomes.at(0).at >= cfg.FailureWindow {
		if t.outcomes.pop().failed {
			t.failed--
		}
	}
}

// prune forgets the failures of the run that are as old as the window (CB-5).
func (e *evidence) prune(cfg *Config, now time.Duration) {
	old := 0
	for old < len(e.run) && now-e.run[old].at >= cfg.FailureWindow {
		old++
	}
	if old > 0 {
		e.run = slices.Delete(e.run, 0, old)
	}
}

// pruneAll forgets everything that is as old as the window, and reports whether
// nothing is left.
func (e *evidence) pruneAll(cfg *Config, now time.Duration) (empty bool) {
	e.prune(cfg, now)
	e.hosts.prune(now, cfg.FailureWindow)
	e.tallies = slices.DeleteFunc(e.tallies, func(t tally) bool {
		return t.outcomes.n == 0 || now-t.newest() >= cfg.FailureWindow
	})
	return len(e.run) == 0 && len(e.tallies) == 0 && e.hosts.oldest == nil
}
