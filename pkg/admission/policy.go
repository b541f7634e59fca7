package admission

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// policy is what the decision knows of failures: the breakers, the holds, and the pools
// in which too many hosts have failed. The Controller's lock guards it.
type policy struct {
	set   *breaker.Set // nil: no breakers
	watch map[string]bool
	rate  int // of the whole Ironic in a minute; 0: none
	// groups are two of the conductor groups that were met. While there is but one, it is
	// the whole Ironic, which has a breaker already (ADR 0005).
	groups map[string]bool
	first  string // of these, as Ironic spells it
	// recovering has the scopes whose breaker is not CLOSED.
	recovering map[breaker.Scope]*recovery
	last       ironic.Work // the kind of work that ended last: it moved the breakers

	book  *holdoff.Book
	quota holdoff.Quota
	// pools counts the members of conductor groups, where MAX_FAILED is set.
	pools map[string]*poolCount

	born     time.Time     // what the times in the records of hosts count from
	patience time.Duration // of a host that would be a poor probe
	polls    uint64
	notices  []FailureNotice
	counts   policyCounts
	scratch  []breaker.Scope
}

// The kinds of breaker.Scope that we use (docs/spec/breaker.md).
const (
	ScopeIronic = "ironic"
	ScopeGroup  = "group"
	ScopeDriver = "driver"
	ScopeImage  = "image"
)

// DefaultGroup names the scope of nodes without a conductor group.
const DefaultGroup = "default"

// wholeIronic is the scope that every host is in.
var wholeIronic = breaker.Scope{Kind: ScopeIronic}

func newPolicy(cfg Config, now time.Time) (*policy, error) {
	s := &policy{
		watch: map[string]bool{}, groups: map[string]bool{}, recovering: map[breaker.Scope]*recovery{},
		quota: cfg.MaxFailed, pools: map[string]*poolCount{}, patience: cfg.Turns.ClaimWindow, born: now,
		counts: newPolicyCounts(),
	}
	var err error
	if s.book, err = holdoff.New(cfg.Holdoff, now, cfg.HoldsKnown); err != nil {
		return nil, err
	}
	s.book.Restore(now, cfg.Holds)
	if cfg.Breakers == nil {
		return s, nil
	}
	for _, kind := range cfg.Breakers.Scopes {
		s.watch[kind] = true
	}
	for group := range cfg.Slots.Groups {
		s.noteGroup(slots.Facts{Known: true, Group: group})
	}
	s.rate = cfg.Breakers.Ironic.RateLimitPerMinute
	s.set, err = breaker.New(&cfg.Breakers.Others, map[string]breaker.Config{ScopeIronic: cfg.Breakers.Ironic})
	return s, err
}

// polled does what is due after each complete poll.
func (c *core) polled(now time.Time) {
	s := c.policy
	s.book.Tick(now)
	c.noteEnds()
	s.set.Tick(now)
	c.countPools(now)
	if s.polls++; s.polls%64 == 0 {
		s.set.Clean(now)
		s.unused(now)
	}
}

// unusedAfter is when a HALF_OPEN scope is closed because no host of it asks: its image was
// withdrawn, or its rack taken away.
const unusedAfter = 2 * time.Hour

func (s *policy) unused(now time.Time) {
	for scope, p := range s.recovering {
		st := s.set.Status(now, scope)
		if st.State == breaker.HalfOpen && st.ConcurrentInstances == 0 && now.Sub(p.askedAt) >= unusedAfter &&
			now.Sub(st.LastStateChange) >= unusedAfter {
			p.unused = true
			s.set.Reset(now, scope)
		}
	}
}

// scopes lists the scopes of a host, as far as its facts are known. The slice is good
// until the next call.
func (s *policy) scopes(f slots.Facts) []breaker.Scope {
	out := s.scratch[:0]
	if s.watch[ScopeIronic] {
		out = append(out, wholeIronic)
	}
	if s.watch[ScopeGroup] && (f.Known || f.Group != "") {
		group := breaker.Scope{Kind: ScopeGroup, Name: cmp.Or(f.Group, DefaultGroup)}
		s.noteGroup(f)
		if len(s.groups) > 1 || s.recovering[group] != nil {
			out = append(out, group)
		}
	}
	if s.watch[ScopeDriver] && f.Driver != "" {
		out = append(out, breaker.Scope{Kind: ScopeDriver, Name: f.Driver})
	}
	if s.watch[ScopeImage] && f.Image != "" {
		out = append(out, breaker.Scope{Kind: ScopeImage, Name: f.Image})
	}
	s.scratch = out
	return out
}

// noteGroup notes the conductor group of a host.
func (s *policy) noteGroup(f slots.Facts) {
	if len(s.groups) > 1 || !f.Known || len(s.groups) == 1 && f.Group == s.first {
		return
	}
	if len(s.groups) == 0 {
		s.first = f.Group
	}
	s.groups[cmp.Or(f.Group, DefaultGroup)] = true
}

// unplaced reports whether a breaker that only a part of all hosts belongs to is not CLOSED, or a pool paused,
// so that one whose facts are not known cannot be judged.
func (s *policy) unplaced(f slots.Facts) bool {
	if f.Group == "" {
		for _, p := range s.pools {
			if p.paused {
				return true
			}
		}
	}
	for scope := range s.recovering {
		if scope != wholeIronic && (scope.Kind != ScopeGroup || f.Group == "") {
			return true
		}
	}
	return false
}

// permit returns the permit for a host that gets a slot; the breakers have allowed it already. A
// host that is being deleted passes any breaker, and its outcome is no verdict.
func (s *policy) permit(now time.Time, f slots.Facts, deletion bool) *breaker.Permit {
	if s.set == nil {
		return nil
	}
	scopes := slices.Clone(s.scopes(f))
	if !deletion {
		if p, err := s.set.Ask(now, scopes...); err == nil {
			return p
		} // else it holds the slot whatever they say, and must be counted
	}
	return s.set.Take(now, scopes...)
}

// take returns the permit of a host that holds a slot without a yes of ours.
func (s *policy) take(now time.Time, f slots.Facts) *breaker.Permit {
	if s.set == nil {
		return nil
	}
	return s.set.Take(now, slices.Clone(s.scopes(f))...)
}
