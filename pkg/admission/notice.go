package admission

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// FailureKind names what a failure did.
type FailureKind string

// The kinds.
const (
	BreakerChanged FailureKind = "breaker" // a breaker changed its state
	PoolChanged    FailureKind = "pool"    // a pool was paused or reopened
	HostFailed     FailureKind = "failed"  // the work of a host, which is held, perhaps
	HoldEnded      FailureKind = "ended"   // of a host, unless by hand: who did it tells it
	BypassChanged  FailureKind = "bypass"  // BMO began or ceased to go round the gateway
)

// FailureNotice is one such event, for a log line that says why hosts wait.
type FailureNotice struct {
	Kind FailureKind

	// Hold is of the host that failed, or was held: with HoldEnded only its names.
	Hold api.Hold
	Work string // what failed
	End  string // one of api.HoldEnds

	Scope    string // of the breaker
	From, To string // its states
	ByHand   bool
	Causes   []api.BreakerCause

	Pool   api.PoolFailures
	Bypass *api.Bypass // nil: it has ceased
}

func breakerNotice(e breaker.Event) FailureNotice {
	return FailureNotice{
		Kind: BreakerChanged, Scope: e.Scope.String(), From: string(e.From), To: string(e.To), ByHand: e.ByHand,
		Causes: showCauses(e.Causes),
	}
}

// hostNotice tells of a failure; fresh: it began an episode.
func (s *policy) hostNotice(now time.Time, e slots.Ending, fresh bool) FailureNotice {
	entry := holdoff.Entry{UUID: e.Host.ID().UUID, Name: e.Host.ID().Name, State: string(e.State), Cause: cut(e.Cause)}
	if fresh {
		entry, _ = s.book.Entry(now, entry.UUID)
	}
	return FailureNotice{Kind: HostFailed, Hold: showHold(entry), Work: string(e.Work)}
}

// noteEnds tells of the holds that have ended.
func (c *core) noteEnds() {
	for _, e := range c.policy.book.Ends() {
		ended := showHold(holdoff.Entry{UUID: e.UUID, Name: cmp.Or(e.Name, c.ledger.Name(e.UUID))})
		c.policy.notices = append(c.policy.notices, FailureNotice{Kind: HoldEnded, Hold: ended, End: string(e.How)})
	}
}

func poolNotice(p *poolCount) FailureNotice { return FailureNotice{Kind: PoolChanged, Pool: p.show()} }

func (p *poolCount) show() api.PoolFailures {
	return api.PoolFailures{Pool: p.group, Failed: p.failed, Hosts: p.hosts, Allowed: p.allowed, Paused: p.paused}
}

// policyCounts only grow.
type policyCounts struct {
	opened map[string]uint64 // by kind of scope
	ends   map[api.OutcomeCount]uint64
}

func newPolicyCounts() policyCounts {
	c := policyCounts{opened: map[string]uint64{}, ends: map[api.OutcomeCount]uint64{}}
	for _, kind := range api.ScopeKinds() {
		c.opened[kind] = 0
	}
	return c
}

// ended counts one piece of work.
func (s *policyCounts) ended(e slots.Ending) {
	cell := api.OutcomeCount{Result: e.Result.String(), Work: string(e.Work), Whose: "foreign"}
	if e.Ours {
		cell.Whose = "ours"
	}
	s.ends[cell]++
}

// outcomes lists the counts in a fixed order.
func (s *policyCounts) outcomes() []api.OutcomeCount {
	out := make([]api.OutcomeCount, 0, len(s.ends))
	for cell, n := range s.ends {
		cell.Count = n
		out = append(out, cell)
	}
	slices.SortFunc(out, func(a, b api.OutcomeCount) int {
		return cmp.Or(cmp.Compare(a.Work, b.Work), cmp.Compare(a.Result, b.Result), cmp.Compare(a.Whose, b.Whose))
	})
	return out
}
