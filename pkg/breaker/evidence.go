package breaker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// outcome is how one piece of work ended.
type outcome struct {
	at      time.Time // by which it counts
	last    time.Time // of a failure: when its host failed last
	host    string
	kind    string
	cause   string
	failed  bool
	step    bool // on the way to what its permit is for
	cleared bool // a success of its kind came after it
	bad     bool // its host has not succeeded since at that kind of work
}

// evidence is the outcomes that a circuit remembers, oldest first.
type evidence []outcome

// add adds o and reports whether it counts. A failure of a host that is known to be bad does not, nor does a success where no
// ratio is judged.
func (e *evidence) add(cfg *Config, now time.Time, o outcome) bool {
	e.forget(cfg, now)
	for i := range *e {
		switch x := &(*e)[i]; {
		case o.failed && x.bad && x.host == o.host:
			x.last = now
			return false
		case !o.failed && x.kind == o.kind:
			x.cleared = x.cleared || cfg.Mode != Window
			x.bad = x.bad && x.host != o.host
		}
	}
	o.bad = o.failed && o.host != ""
	if !o.failed && cfg.RatioPercent == 0 {
		return false
	}
	if len(*e) >= maxOutcomes {
		*e = slices.Delete(*e, 0, 1)
	}
	*e = append(*e, o)
	return true
}

// forget forgets what counts no more, and whose host is not known to be bad.
func (e *evidence) forget(cfg *Config, now time.Time) {
	*e = slices.DeleteFunc(*e, func(o outcome) bool {
		return now.Sub(o.at) >= cfg.FailureWindow && (!o.bad || now.Sub(o.last) >= badFor)
	})
}

// run is the failures that count towards FailureThreshold.
func (e evidence) run(cfg *Config, now time.Time) []outcome {
	failed, _ := e.ratio(cfg, now)
	return slices.DeleteFunc(failed, func(o outcome) bool { return o.cleared })
}

// ratio is the failures of the window, and how many outcomes they are among.
func (e evidence) ratio(cfg *Config, now time.Time) (failed []outcome, all int) {
	for _, o := range e {
		if now.Sub(o.at) >= cfg.FailureWindow {
			continue
		}
		all++
		if o.failed {
			failed = append(failed, o)
		}
	}
	return failed, all
}

// Cause is failures with the same text.
type Cause struct {
	Text  string
	Count int
	Hosts []string // those that failed, in the order in which they did
}

// causesOf groups failures: the most frequent first, then by text.
func causesOf(failures []outcome) (causes []Cause) {
	for _, o := range failures {
		i := slices.IndexFunc(causes, func(c Cause) bool { return c.Text == o.cause })
		if i < 0 {
			i, causes = len(causes), append(causes, Cause{Text: o.cause})
		}
		causes[i].Count++
		if o.host != "" {
			causes[i].Hosts = append(causes[i].Hosts, o.host)
		}
	}
	slices.SortFunc(causes, func(a, b Cause) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Text, b.Text)) })
	return causes
}

// nameCauses lists up to three causes with their counts.
func nameCauses(causes []Cause) string {
	var names []string
	for i, c := range causes {
		if i == 3 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%s (%d)", c.Text, c.Count))
	}
	return strings.Join(names, ", ")
}
