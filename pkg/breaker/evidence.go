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
	at      time.Time
	host    string
	kind    string
	cause   string
	failed  bool
	step    bool // RecordStep noted it: the permit goes on
	cleared bool // a later success of the same kind clears it
}

// badHost is a host that has failed and not succeeded at that work since: its next failures do not count.
type badHost struct {
	kind   string    // the work that failed first
	failed time.Time // the last failure
}

// count counts an outcome in a CLOSED circuit, and opens it if failures are enough. It skips a failure of a bad host,
// and a success if there is no ratio.
func (s *Set) count(c *circuit, o outcome) {
	known, bad := c.bad[o.host]
	switch {
	case o.failed && bad:
		c.bad[o.host] = badHost{known.kind, s.now}
		return
	case o.failed && o.host != "" && len(c.bad) < maxOutcomes:
		c.bad[o.host] = badHost{o.kind, s.now}
	case !o.failed:
		if bad && known.kind == o.kind {
			delete(c.bad, o.host)
		}
		for i, x := range c.outcomes {
			c.outcomes[i].cleared = x.cleared || x.kind == o.kind && c.cfg.Mode != Window
		}
		if c.cfg.RatioPercent == 0 {
			return
		}
	}
	if len(c.outcomes) >= maxOutcomes {
		c.outcomes = slices.Delete(c.outcomes, 0, 1)
	}
	c.outcomes = append(c.outcomes, o)
	failed, run := c.failures()
	switch all := len(c.outcomes); {
	case len(run) >= c.cfg.FailureThreshold:
		s.open(c, c.cfg.RecoveryTimeout, fmt.Sprintf("%d failures within %v", len(run), c.cfg.FailureWindow), run, false)
	case c.cfg.RatioPercent > 0 && all >= c.cfg.RatioMinimum && len(failed)*100 >= c.cfg.RatioPercent*all:
		why := fmt.Sprintf("%d failures of %d outcomes within %v", len(failed), all, c.cfg.FailureWindow)
		s.open(c, c.cfg.RecoveryTimeout, why, failed, false)
	}
}

// failures returns the failures of the window, and those of them that count towards FailureThreshold.
func (c *circuit) failures() (failed, run []outcome) {
	for _, o := range c.outcomes {
		if o.failed {
			failed = append(failed, o)
		}
		if o.failed && !o.cleared {
			run = append(run, o)
		}
	}
	return failed, run
}

// Cause is a group of failures with the same error text.
type Cause struct {
	Text  string
	Count int      // failures
	Hosts []string // the hosts that failed, in the order in which they did
}

// causesOf groups failures by text, the most frequent first, then by text.
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

// nameCauses returns up to three causes with their counts, as text.
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
