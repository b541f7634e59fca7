package statusview

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// QueueRows is how many hosts of each pool's queue are shown, and so how many are
// worth fetching.
const QueueRows = 20

// tenantRows is how many tenants are shown.
const tenantRows = 10

// Queue shows who waits as text.
func Queue(q api.Queue, width int) string {
	s := space{width: width}
	out := foldAll(queueFields(q), s, fieldIndent)
	for _, p := range q.Pools {
		if !idle(p) {
			out = append(out, hostTable(titleOf(p), p, s)...)
		}
	}
	return joined(out)
}

func titleOf(p api.PoolQueue) string {
	if p.Pool == "" {
		return ""
	}
	return " OF " + printable(p.Pool)
}

// queueFields says how long the queues are and what moves them on.
func queueFields(q api.Queue) []line {
	var out []line
	for _, p := range q.Pools {
		name := ""
		if p.Pool != "" {
			if idle(p) {
				continue
			}
			name = printable(p.Pool) + ": "
		}
		out = append(out, line{field("queue", name+queueText(p)), usual})
		if !idle(p) {
			out = append(out, line{field("turns", name+turnsText(p)), minor})
		}
	}
	return out
}

func idle(p api.PoolQueue) bool { return p.Waiting == 0 && p.Parked == 0 }

func queueText(p api.PoolQueue) string {
	if idle(p) {
		return "nobody waits"
	}
	text := fmt.Sprintf("%d waiting, %d of them called, %d due", p.Waiting, p.Called, p.Due)
	if p.Stopped > 0 {
		text += fmt.Sprintf("; %d stopped", p.Stopped)
	}
	if silent := p.Parked - p.Stopped; silent > 0 {
		text += fmt.Sprintf("; %d silent for too long", silent)
	}
	return text
}

func turnsText(p api.PoolQueue) string {
	lane := "shut"
	if p.FailingOpen {
		lane = "open"
	}
	held := "how long a slot is held is not known yet"
	if p.MeanSlotSeconds > 0 {
		held = "a slot is held for about " + age(p.MeanSlotSeconds)
	}
	return fmt.Sprintf("up to %d called ahead, claim window %s, %s, failing lane %s: %d held, %d allowed now",
		p.Ahead, age(p.ClaimWindowSeconds), held, lane, p.FailingHeld, p.FailingAllowed)
}

// queueTables are who waits: tenants, then the first hosts.
func queueTables(q api.Queue, s space) []line {
	var out []line
	for _, p := range q.Pools {
		if idle(p) {
			continue
		}
		if !s.brief {
			out = append(out, tenantTable(titleOf(p), p, s)...)
		}
		p.Hosts = p.Hosts[:min(len(p.Hosts), QueueRows)]
		out = append(out, hostTable(titleOf(p), p, s)...)
	}
	return out
}

// tenantTable shows those with the most waiting hosts.
func tenantTable(title string, p api.PoolQueue, s space) []line {
	tenants := slices.SortedStableFunc(slices.Values(p.Tenants), func(a, b api.TenantQueue) int {
		return cmp.Compare(b.Waiting+b.Called, a.Waiting+a.Called)
	})
	shown := min(len(tenants), tenantRows)
	hidden := max(len(tenants), p.TenantCount) - shown
	t := newTable("TENANT"+title, "WEIGHT", "SLOTS", "CALLED", "WAITING", "FAILING", "GRANTED")
	for _, x := range tenants[:shown] {
		t.row(usual, cell(x.Tenant), fmt.Sprint(x.Weight), fmt.Sprint(x.Holding), fmt.Sprint(x.Called),
			fmt.Sprint(x.Waiting), fmt.Sprint(x.Failing), fmt.Sprint(x.Granted))
	}
	return t.lines(s, hidden, "tenants")
}

func hostTable(title string, p api.PoolQueue, s space) []line {
	t := newTable("PLACE"+title, "HOST", "LANE", "ERRORS", "TURN", "TOLD", "WAITED", "EXPECTED")
	t.spare = []string{"ERRORS", "LANE"}
	for _, h := range p.Hosts {
		name := hostName(h.Name)
		if name == "" {
			name = h.NodeUUID
		}
		place := "-"
		if h.Position > 0 {
			place = fmt.Sprint(h.Position)
		}
		t.row(usual, place, cell(name), cell(h.Lane), fmt.Sprint(h.Errors), turn(h), cell(string(h.Reason)),
			age(h.WaitedSeconds), expected(h))
	}
	return t.lines(s, max(0, cmp.Or(p.Matching, p.Waiting)-len(p.Hosts)), "hosts")
}

// expected says when h may have its turn: half of such hosts and nine of ten.
func expected(h api.QueuedHost) string {
	if h.Position == 0 {
		return "-"
	}
	if h.ExpectSeconds == nil {
		return "not known yet"
	}
	text := "in " + age(*h.ExpectSeconds)
	if h.AtMostSeconds != nil && *h.AtMostSeconds > *h.ExpectSeconds {
		text += " to " + age(*h.AtMostSeconds)
	}
	return text
}

// turn says whether a slot is meant for h.
func turn(h api.QueuedHost) string {
	switch {
	case h.Due:
		return "due"
	case h.Called:
		return "called"
	}
	return "-"
}
