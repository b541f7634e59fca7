package disruption

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// room is how many more hosts of a pool may be disrupted, and what bounds it.
type room struct {
	hosts int
	why   string
}

type roomKey struct {
	pool   *pool
	reason api.PlanReason
}

// roomFor is the smallest of all budgets that are active and bound this reason, less hosts that are not Ready, are being
// disrupted, are wanted and missing, or are not wanted (DC-19, DC-20).
func (p *planner) roomFor(q *pool, reason api.PlanReason) room {
	key := roomKey{q, reason}
	if r, ok := p.rooms[key]; ok {
		return r
	}
	budgets := p.c.Budgets
	if len(q.Policy.Budgets) > 0 {
		budgets = q.Policy.Budgets
	}
	busy := q.busy()
	r := room{hosts: math.MaxInt}
	for _, b := range budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) && b.fault() == "" {
			continue
		}
		most, why := b.allows(q.size(), p.now)
		if most == math.MaxInt {
			continue // not active
		}
		if left := max(0, most-busy); left < r.hosts || left == r.hosts && why < r.why {
			r = room{left, why}
		}
	}
	if r.hosts != math.MaxInt && busy > 0 {
		r.why += fmt.Sprintf(", and %d of its hosts are not Ready, missing, too many, or being disrupted", busy)
	}
	p.rooms[key] = r
	return r
}

// size is how many hosts a pool has, or is to have.
func (q *pool) size() int { return len(q.members) + q.missing() }

// missing are hosts that the pool's owner wants and has not: a Machine that was deleted is made anew later.
func (q *pool) missing() int {
	if !q.owns() {
		return 0
	}
	return max(0, q.Replicas-len(q.members))
}

// surplus are hosts that the pool's owner has and does not want: it is about to take as many away, and chooses which.
func (q *pool) surplus() int {
	if !q.owns() {
		return 0
	}
	n := -q.Replicas
	for _, h := range q.members {
		if !h.disrupting() {
			n++
		}
	}
	return max(0, n)
}

// owns tells whether somebody keeps the pool at its replicas.
func (q *pool) owns() bool { return q.Kind != PoolLabel && q.name != "" }

// busy counts hosts of a pool that do not serve, or soon will not.
func (q *pool) busy() int {
	n := q.missing() + q.surplus()
	for _, h := range q.members {
		if h.disrupting() || !h.ready() && !h.unclaimed() {
			n++
		}
	}
	return n
}

// ledger counts hosts that a plan takes, against budgets and MIN_READY, a hard floor (DC-19).
type ledger struct {
	p        *planner
	replaced bool // a replacement is Ready first, and makes up for one
	taken    map[*pool]int
	ready    map[*pool]int
	reasons  map[*pool][]api.PlanReason
}

func (p *planner) newLedger(replaced bool) *ledger {
	return &ledger{p: p, replaced: replaced, taken: map[*pool]int{}, ready: map[*pool]int{}, reasons: map[*pool][]api.PlanReason{}}
}

// add takes one more host, or says why it cannot be disrupted too.
func (l *ledger) add(h *host, reason api.PlanReason) string {
	q := h.pool
	reasons := l.reasons[q]
	if !slices.Contains(reasons, reason) {
		reasons = append(reasons, reason)
	}
	for _, r := range reasons {
		if room := l.p.roomFor(q, r); l.taken[q] >= room.hosts {
			return fmt.Sprintf("%s: %d more may be disrupted (budget %s)", q.title(), room.hosts, room.why)
		}
	}
	if q.owns() && l.taken[q] >= q.Replicas {
		return fmt.Sprintf("%s wants %d hosts, and no more can be taken from it", q.title(), q.Replicas)
	}
	if h.ready() {
		have := q.ready - q.surplus() - l.ready[q] - 1
		if l.replaced {
			have++
		}
		if least := l.p.minReady(q); have < least {
			return fmt.Sprintf("%s: %d of its Ready hosts would stay, and MIN_READY is %d", q.title(), max(0, have), least)
		}
		l.ready[q]++
	}
	l.taken[q]++
	l.reasons[q] = reasons
	return ""
}

// within says why not all of these hosts may be disrupted together; "" = they may.
func (p *planner) within(hosts []*host, reason func(*host) api.PlanReason, replaced bool) string {
	l := p.newLedger(replaced)
	for _, h := range hosts {
		if why := l.add(h, reason(h)); why != "" {
			return why
		}
	}
	return ""
}

func (q *pool) title() string {
	if q.name == "" {
		return "hosts of no pool"
	}
	return q.name
}

// allows is how many of so many hosts the budget allows at now. While its schedule is not active it bounds nothing;
// one that cannot be read is closed (DC-21).
func (b Budget) allows(hosts int, now time.Time) (most int, why string) {
	most, percent, schedule, fault := b.read()
	if fault != "" {
		return 0, "which cannot be read: " + fault
	}
	why = b.Nodes
	if percent {
		most, why = (most*hosts+99)/100, fmt.Sprintf("%s of %d", b.Nodes, hosts)
	}
	if schedule != nil {
		// Active from a start until just before start + duration: a start is in (now - duration, now].
		start := schedule.Next(now.UTC().Add(-time.Duration(b.Duration)))
		if start.IsZero() || start.After(now) {
			return math.MaxInt, ""
		}
		why += fmt.Sprintf(" in %q for %s", clip(b.Schedule), time.Duration(b.Duration))
	}
	return most, why
}

// maxBudget is the largest number of hosts that a budget may name.
const maxBudget = 1_000_000

// fault says why a budget cannot be read; "" = it can.
func (b Budget) fault() string {
	_, _, _, fault := b.read()
	return fault
}

// read is what a budget says: so many nodes or percent, and when; no schedule is always.
func (b Budget) read() (n int, percent bool, schedule cron.Schedule, fault string) {
	number, percent := strings.CutSuffix(b.Nodes, "%")
	n, err := strconv.Atoi(number)
	digits := strings.Trim(number, "0123456789") == ""
	switch {
	case err != nil || !digits || n > maxBudget:
		fault = fmt.Sprintf("nodes: %q is no number 0..%d and no percentage", clip(b.Nodes), maxBudget)
	case percent && n > 100:
		fault = fmt.Sprintf("nodes: %q is more than 100%%", clip(b.Nodes))
	case b.Schedule == "" && b.Duration != 0:
		fault = "duration: is set without schedule"
	case b.Schedule != "" && b.Duration <= 0:
		fault = "duration: must be more than 0 with a schedule"
	case b.Schedule != "":
		if schedule, err = parseSchedule(b.Schedule); err != nil {
			fault = err.Error()
		}
	}
	for _, r := range b.Reasons {
		if fault == "" && !slices.Contains(planReasons, r) {
			fault = fmt.Sprintf("reasons: %q is none of Empty, Drifted, Underutilized, Unclaimed", clip(string(r)))
		}
	}
	return n, percent, schedule, fault
}

var planReasons = []api.PlanReason{api.PlanEmpty, api.PlanDrifted, api.PlanUnderutilized, api.PlanUnclaimed}

var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// parseSchedule reads a cron expression in UTC. Zones are refused, and @every, which has no start.
func parseSchedule(text string) (cron.Schedule, error) {
	shown := clip(text)
	switch {
	case len(text) > 256:
		return nil, fmt.Errorf("schedule: %q is longer than 256 bytes", shown)
	case strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ="):
		return nil, fmt.Errorf("schedule: %q names a zone, and schedules are in UTC", shown)
	case strings.HasPrefix(text, "@every"):
		return nil, fmt.Errorf("schedule: %q has no start", shown)
	}
	s, err := cronParser.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("schedule: %q is no cron expression: %w", shown, err)
	}
	return s, nil
}

func budgetFaults(where string, budgets []Budget) []string {
	var all []string
	for _, b := range budgets {
		if why := b.fault(); why != "" {
			all = append(all, where+": budget "+why)
		}
	}
	return all
}
