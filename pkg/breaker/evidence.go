package breaker

import (
	"slices"
	"strings"
	"time"
)

// outcome is how a work ended: well, when failure is nil.
type outcome struct {
	kind    string
	failure *failure
}

// failure is made before any lock is taken, shared by the scopes and never changed.
type failure struct {
	host, kind, cause string
}

// entry is an outcome of a known kind with its time.
type entry struct {
	at      time.Duration
	failure *failure // nil for a success
}

// failed is the outcome of a work that ended with err. Its texts are copies, so that
// it keeps nothing else alive.
func failed(w Work, err error) *outcome {
	f := &failure{host: strings.Clone(w.Host), kind: strings.Clone(w.Kind), cause: strings.Clone(causeOf(err))}
	return &outcome{kind: f.kind, failure: f}
}

// evidence is what a CLOSED circuit knows of the work that ended. The zero value is
// empty. It stays for show while the circuit is OPEN or HALF_OPEN.
type evidence struct {
	// run is the failures that count towards the threshold, oldest first.
	run []entry
	// tallies hold the outcomes by kind of work, for the ratio.
	tallies []*tally
	hosts   hosts
}

// add counts o and returns the failures that it now opens for, nil for none, and how
// many outcomes they are a share of, 0 when they are a run.
func (e *evidence) add(cfg *Config, now time.Duration, o *outcome) (failures []entry, of int) {
	e.prune(cfg, now)
	n := entry{at: now, failure: o.failure}
	switch {
	case n.failure == nil:
		e.succeed(cfg, o.kind)
	case n.failure.host != "" && !e.countsOf(cfg, now, n.failure.host):
		return nil, 0
	default:
		e.run = append(e.run, n)
	}
	if len(e.run) >= cfg.FailureThreshold {
		return e.run, 0
	}
	if cfg.RatioPercent == 0 {
		return nil, 0
	}
	t := e.tally(o.kind)
	t.add(cfg, n)
	if t.tooBad(cfg) {
		return t.failures.slice(), t.outcomes.n
	}
	return nil, 0
}

// succeed takes the failures of kind off the run, unless a success does not (CB-6).
func (e *evidence) succeed(cfg *Config, kind string) {
	if len(e.run) > 0 && cfg.Mode == Consecutive {
		e.run = slices.DeleteFunc(e.run, func(f entry) bool { return f.failure.kind == kind })
	}
}

// countsOf notes a failure of host and reports whether it counts: once in a window,
// and again only after the host has been quiet for one.
func (e *evidence) countsOf(cfg *Config, now time.Duration, host string) bool {
	if e.hosts.failed(host, now, cfg.FailureWindow) {
		return false
	}
	return !e.hosts.lost || !e.has(cfg, now, host)
}

// has looks among all failures that count for one of host.
func (e *evidence) has(cfg *Config, now time.Duration, host string) bool {
	ofHost := func(f entry) bool { return f.failure.host == host }
	return slices.ContainsFunc(e.run, ofHost) || slices.ContainsFunc(e.tallies, func(t *tally) bool {
		t.prune(cfg, now)
		return slices.ContainsFunc(t.failures.slice(), ofHost)
	})
}

// tally returns the outcomes of kind. Of too many kinds the one that ended longest
// ago is forgotten.
func (e *evidence) tally(kind string) *tally {
	for _, t := range e.tallies {
		if t.kind == kind {
			return t
		}
	}
	if len(e.tallies) >= maxKinds {
		oldest := 0
		for i, t := range e.tallies {
			if t.newest < e.tallies[oldest].newest {
				oldest = i
			}
		}
		e.tallies = slices.Delete(e.tallies, oldest, oldest+1)
	}
	t := &tally{kind: strings.Clone(kind)}
	e.tallies = append(e.tallies, t)
	return t
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

// pruneAll forgets everything that is as old as the window, and reports whether no
// failure is left.
func (e *evidence) pruneAll(cfg *Config, now time.Duration) (good bool) {
	e.prune(cfg, now)
	e.hosts.prune(now, cfg.FailureWindow)
	good = len(e.run) == 0 && e.hosts.oldest == nil
	e.tallies = slices.DeleteFunc(e.tallies, func(t *tally) bool {
		t.prune(cfg, now)
		good = good && t.failures.n == 0
		return t.outcomes.n == 0
	})
	return good
}
