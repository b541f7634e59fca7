package disruption_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption/budget"
)

// allowed is how many hosts of a pool may be disrupted for a reason; bounded is false where nothing
// bounds it, or the judge cannot read what does.
func (w *world) allowed(name string, reason api.PlanReason) (n int, bounded bool) {
	busy, young := 0, 0
	for _, h := range w.members[name] {
		switch n := w.nodes[home(h)]; {
		case n == nil || n.FirstReady.IsZero():
			young++ // Karpenter leaves out nodes that are not initialized; counting them as not ready is stricter
		case !n.Ready || w.disrupting(h):
			busy++
		}
	}
	for _, b := range w.budgets(w.pools[name]) {
		if b.MinReady != "" || len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		all, ok := ceiling(b, len(w.members[name]), w.now)
		if !ok {
			continue
		}
		old, _ := ceiling(b, len(w.members[name])-young, w.now)
		most := max(0, all-busy-young, old-busy)
		if !bounded || most < n {
			n, bounded = most, true
		}
	}
	return n, bounded
}

var plainNodes = regexp.MustCompile(`^[0-9]{1,6}%?$`)

// floor is how many hosts of a pool stay Ready while some go for a reason: one where no budget that always counts
// says a number.
func (w *world) floor(name string, reason api.PlanReason) int {
	least, said := 0, false
	for _, b := range w.budgets(w.pools[name]) {
		if b.MinReady == "" || len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		said = said || b.Schedule == "" && len(b.Reasons) == 0
		b.Nodes = b.MinReady
		if n, ok := ceiling(b, len(w.members[name]), w.now); ok {
			least = max(least, n)
		}
	}
	if !said {
		least = max(least, 1)
	}
	return least
}

// ceiling is what one budget allows of so many hosts; ok is false while it is not active, or where only the
// planner may know.
func ceiling(b budget.Budget, hosts int, now time.Time) (int, bool) {
	duration, err := time.ParseDuration(b.Duration)
	if (b.Schedule == "") != (b.Duration == "") || b.Duration != "" && (err != nil || duration < 0) {
		return 0, true
	}
	if !plainNodes.MatchString(b.Nodes) {
		return 0, !strings.ContainsAny(b.Nodes, " +.") // closed
	}
	if b.Schedule != "" {
		on, known, readable := activeAt(b.Schedule, duration, now)
		switch {
		case !readable:
			return 0, true
		case !known || !on:
			return 0, false
		}
	}
	number, percent := strings.CutSuffix(b.Nodes, "%")
	n, err := strconv.Atoi(number)
	if err != nil || percent && n > 100 {
		return 0, false
	}
	if percent {
		n = (n*hosts + 99) / 100
	}
	return n, true
}

// backwards is the one unreadable range that tests have.
var backwards = regexp.MustCompile(`^(?i:tue-mon)$`)

var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// activeAt tells whether a schedule has a start in (now - duration, now], by trying every minute. known is false for what
// this reader does not know.
func activeAt(schedule string, duration time.Duration, now time.Time) (on, known, readable bool) {
	if text, ok := macros[schedule]; ok {
		schedule = text
	}
	fields := strings.Fields(schedule)
	if len(fields) != 5 {
		return false, false, strings.HasPrefix(schedule, "@every ") || strings.Contains(schedule, "=")
	}
	if backwards.MatchString(fields[4]) {
		return false, false, false
	}
	var sets [5]map[int]bool
	for i, bound := range [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}} {
		set, ok := cronField(fields[i], bound[0], bound[1])
		if !ok {
			return false, false, true
		}
		sets[i] = set
	}
	if duration > 8*24*time.Hour {
		return false, false, true
	}
	anyDay := fields[2] == "*" || fields[4] == "*"
	for t := now.UTC().Truncate(time.Minute); now.Sub(t) < duration; t = t.Add(-time.Minute) {
		dom, dow := sets[2][t.Day()], sets[4][int(t.Weekday())]
		if day := anyDay && dom && dow || !anyDay && (dom || dow); day && sets[0][t.Minute()] && sets[1][t.Hour()] && sets[3][int(t.Month())] {
			return true, true, true
		}
	}
	return false, true, true
}

// cronField reads numbers, ranges and lists of them, and *.
func cronField(text string, low, high int) (map[int]bool, bool) {
	set := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		from, to := low, high
		if part != "*" {
			first, last, isRange := strings.Cut(part, "-")
			var err error
			if from, err = cronNumber(first); err != nil {
				return nil, false
			}
			to = from
			if isRange {
				if to, err = cronNumber(last); err != nil {
					return nil, false
				}
			}
		}
		if from < low || to > high || from > to {
			return nil, false
		}
		for i := from; i <= to; i++ {
			set[i] = true
		}
	}
	return set, true
}

// cronNumber knows the names of days too.
func cronNumber(text string) (int, error) {
	if day := slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, strings.ToLower(text)); day >= 0 {
		return day, nil
	}
	return strconv.Atoi(text)
}

// barred says which condition of a candidate a host does not meet for a method; "" = it meets all.
func (w *world) barred(h *disruption.Host, m api.PlanMethod) string {
	if why := w.outOfBounds(h); why != "" {
		return why
	}
	n := w.nodes[home(h)]
	pool := w.pools[poolOf(h)]
	switch {
	case n == nil:
		return "it has no Node"
	case h.Machine == nil:
		return "it has no Machine"
	case n.FirstReady.IsZero():
		return "its Node was never Ready (law ready once)"
	case pool == nil:
		return "it has no pool that is known"
	}
	for _, p := range w.guests(home(h)) {
		if why := stuck(p); why != "" {
			return "its pod " + p.String() + ": " + why
		}
	}
	if m == api.MethodDrift || m == api.MethodStaticDrift {
		if !w.drifted(h, m) {
			return "it has not drifted (law drift)"
		}
		return ""
	}
	return w.unfit(h, n, pool, m)
}

// unfit says which condition of emptiness and consolidation does not hold.
func (w *world) unfit(h *disruption.Host, n *disruption.Node, pool *disruption.Pool, m api.PlanMethod) string {
	_, _, priced := w.price(h)
	switch {
	case pool != nil && !pool.Scales:
		return "its pool does not scale"
	case !quiet(n, w.after(pool), w.now):
		return "consolidateAfter is not over (law empty)"
	case h.Machine.Consolidatable != nil && !*h.Machine.Consolidatable:
		return "it is not Consolidatable"
	case m == api.MethodEmptiness && !w.settled(home(h)):
		return "it is not empty (law empty)"
	case m == api.MethodEmptiness:
		return ""
	case len(w.guests(home(h))) == 0:
		return "it is empty, and not for consolidation (law one method)"
	case slices.ContainsFunc(w.budgets(pool), neverUnder):
		return "a budget forbids to consolidate it (law policy)"
	case !priced:
		return "its price is not known (law price)"
	}
	return ""
}

func neverUnder(b budget.Budget) bool {
	return strings.TrimSuffix(b.Nodes, "%") == "0" && b.Schedule == "" && slices.Contains(b.Reasons, api.PlanUnderutilized)
}

// outOfBounds is what makes a host no candidate for whatever reason.
func (w *world) outOfBounds(h *disruption.Host) string {
	n, m := w.nodes[home(h)], h.Machine
	pool := w.pools[poolOf(h)]
	for _, rule := range []struct {
		broken bool
		why    string
	}{
		{h.Storage || storageNode(n), "it is a storage host (law left alone)"},
		{h.DoNotDisrupt, "it must not be disrupted (law left alone)"},
		{h.Paused || m != nil && m.Paused, "it is paused (law left alone)"},
		{h.Detached, "it is detached (law left alone)"},
		{h.External, "it is externally provisioned (law left alone)"},
		{m != nil && m.ControlPlane || n != nil && n.ControlPlane, "it is of the control plane (law left alone)"},
		{m != nil && m.OtherOwner != "", "another owner has its Machine"},
		{w.disrupting(h), "it is being disrupted already"},
		{h.Failed, "it has failed"},
		{h.State != "provisioned", "it is not provisioned"},
		{len(h.Faults) > 0, "its annotations cannot be read"},
		{pool != nil && len(pool.Faults) > 0, "annotations of its pool cannot be read"},
	} {
		if rule.broken {
			return rule.why
		}
	}
	return ""
}
