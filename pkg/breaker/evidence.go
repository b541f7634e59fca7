package breaker

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// outcome is how a work ended: well, when failure is nil.
type outcome struct {
	kind    string
	failure *failure
}

// failure is shared by the scopes and never changed.
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
// empty. While the circuit is OPEN or HALF_OPEN it stays for Status.
type evidence struct {
	// run is the failures that count towards the threshold, oldest first.
	run []entry
	// tallies hold the outcomes by kind of work, for the ratio.
	tallies []*tally
	hosts   hosts
}

// add counts o and returns the failures that it now opens for, nil for none, and how
// many outcomes they are a share of, 0 when they are a run. running is how many permits are out.
func (e *evidence) add(cfg *Config, now time.Duration, o *outcome, running int) (failures []entry, of int) {
	e.forgetOldRun(cfg, now)
	n := entry{at: now, failure: o.failure}
	switch {
	case n.failure != nil && !e.counts(cfg, now, n.failure.host):
		return nil, 0
	case n.failure != nil:
		e.run = append(e.run, n)
	case cfg.Mode == Consecutive: // CB-6
		e.run = slices.DeleteFunc(e.run, func(f entry) bool { return f.failure.kind == o.kind })
	}
	if len(e.run) >= cfg.FailureThreshold {
		return e.run, 0
	}
	if cfg.RatioPercent == 0 {
		return nil, 0
	}
	t := e.tally(o.kind)
	t.add(cfg, n)
	// One failure alone is no ratio (CB-30). Nor are the first outcomes of many: broken hosts end first.
	least := max(cfg.RatioMinimum, min(running, maxOutcomes))
	if all := t.outcomes.n; t.failed >= 2 && all >= least && t.failed*100 >= cfg.RatioPercent*all {
		return t.failures(), all
	}
	return nil, 0
}

// counts notes a failure of host and reports whether it counts: once in a window, and
// again only after the host has been quiet for one (CB-31). If some hosts were
// forgotten for want of memory, it searches the failures that count for this one.
func (e *evidence) counts(cfg *Config, now time.Duration, host string) bool {
	if host == "" {
		return true
	}
	if e.hosts.failed(host, now, cfg.FailureWindow) {
		return false
	}
	if !e.hosts.lost {
		return true
	}
	ofHost := func(f entry) bool { return f.failure.host == host }
	return !slices.ContainsFunc(e.run, ofHost) && !slices.ContainsFunc(e.tallies, func(t *tally) bool {
		t.forgetOld(cfg, now)
		return slices.ContainsFunc(t.failures(), ofHost)
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
		oldest := slices.MinFunc(e.tallies, func(a, b *tally) int { return cmp.Compare(a.newest, b.newest) })
		e.tallies = slices.DeleteFunc(e.tallies, func(t *tally) bool { return t == oldest })
	}
	t := &tally{kind: strings.Clone(kind)}
	e.tallies = append(e.tallies, t)
	return t
}

// forgetOldRun forgets the failures of the run that are as old as the window (CB-5).
func (e *evidence) forgetOldRun(cfg *Config, now time.Duration) {
	old := 0
	for old < len(e.run) && now-e.run[old].at >= cfg.FailureWindow {
		old++
	}
	e.run = slices.Delete(e.run, 0, old)
}

// forgetOld forgets everything that is as old as the window, and reports whether no
// failure is left.
func (e *evidence) forgetOld(cfg *Config, now time.Duration) (clean bool) {
	e.forgetOldRun(cfg, now)
	e.hosts.forgetOld(now, cfg.FailureWindow)
	clean = len(e.run) == 0 && len(e.hosts.list) == 0
	e.tallies = slices.DeleteFunc(e.tallies, func(t *tally) bool {
		t.forgetOld(cfg, now)
		clean = clean && t.failed == 0
		return t.outcomes.n == 0
	})
	return clean
}
