package statusview

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// planRows is how many candidates of later plans, and how many moves of an action, are shown.
const (
	planLater = 20
	planMoves = 5
)

// underAction is where begins what is said of a line of a plan.
const underAction = "  "

// Plan shows what could be released or provisioned again. Commands are never broken: they can be
// pasted.
func Plan(p api.Plan, width int) string {
	out := &page{width: width}
	out.running(p)
	out.say(0, planHeadline(p))
	if p.Blocked != "" && len(p.Actions) > 0 { // else the headline says it
		out.fieldf("blocked", "%s", p.Blocked)
	}
	for _, fault := range p.Faults {
		out.fieldf("fault", "%s", fault)
	}
	made := "as of " + p.MadeAt.UTC().Format(time.DateTime) + " UTC"
	if p.Method != "" {
		made = "by " + string(p.Method) + ", " + made
	}
	out.fieldf("plan", "%s: %s, %s and %s looked at", made, amount(p.Hosts, "host"), amount(p.Nodes, "node"), amount(p.Pods, "pod"))
	out.clusters(p.Clusters)
	out.actions("HOST", p.Actions)
	out.later(p.Later)
	out.excluded(p.Excluded)
	return out.String()
}

// running tells of planned work that is being carried out: what, what it waits for, and whether somebody must do
// something.
func (p *page) running(plan api.Plan) {
	r := plan.Running
	if r == nil {
		return
	}
	what := fmt.Sprintf("%s of %s", r.Decision, strings.Join(r.Hosts, ", "))
	if r.Replacement != "" {
		what += " by " + r.Replacement
	}
	p.say(0, fmt.Sprintf("Being carried out: %s (%s): %s, for %s", what, r.Reason, r.Step, age(max(0, plan.MadeAt.Sub(r.Since).Seconds()))))
	if r.WaitsFor != "" {
		p.fieldf("waits", "%s", r.WaitsFor)
	}
	if r.LastError != "" {
		p.fieldf("error", "%s", r.LastError)
	}
	if r.Stuck {
		p.fieldf("stuck", `this takes longer than it should: docs/planned-work.md, "When it is stuck". To end it:`)
		p.whole(underAction + "  " + endCommand(r))
	}
	p.cut("")
}

// endCommand has it taken back, or left as it is (docs/planned-work.md).
func endCommand(r *api.PlanRunning) string {
	namespace, name := "NAMESPACE", "NAME"
	if len(r.Hosts) > 0 {
		if ns, n, ok := strings.Cut(r.Hosts[0], "/"); ok {
			namespace, name = ns, n
		}
	}
	return fmt.Sprintf("kubectl annotate bmh -n %s %s ironic-throttle.metal3.io/command-", namespace, name)
}

// done is what becomes of the hosts of a decision.
var done = map[api.PlanDecision]string{
	api.PlanRelease: "released", api.PlanReplace: "replaced by a cheaper one", api.PlanReprovision: "provisioned again",
}

// planHeadline is the one thing that matters.
func planHeadline(p api.Plan) string {
	switch {
	case len(p.Actions) > 0:
	case p.Blocked != "":
		return "Nothing is planned now: " + p.Blocked
	case len(p.Later) > 0:
		return fmt.Sprintf("Nothing could be released or provisioned again now; %s for later", amount(len(p.Later), "candidate"))
	default:
		return "Nothing could be released or provisioned again"
	}
	hosts := map[api.PlanDecision]int{}
	var saving, minutes float64
	for _, a := range p.Actions {
		hosts[a.Decision] += len(a.Hosts)
		saving += a.SavingPerHour
		minutes += a.SlotMinutes
	}
	var parts []string
	for _, d := range api.PlanDecisions() {
		if n := hosts[d]; n > 0 {
			parts = append(parts, amount(n, "host")+" could be "+done[d])
		}
	}
	text := strings.Join(parts, ", ")
	if saving > 0 {
		text += ", saving " + perHour(saving) + "/h"
	}
	text += fmt.Sprintf(" for %s slot-minutes; ", number(minutes))
	switch {
	case p.DryRun:
		return text + "nothing is carried out (dry run)"
	case p.Blocked != "":
		return text + "nothing is carried out now"
	}
	return text + "it may be carried out from " + p.ExecuteAfter.UTC().Format(time.TimeOnly) + " UTC on, if it still holds"
}

// clusters are the workload clusters that were read, and those that were not.
func (p *page) clusters(all []api.PlanCluster) {
	t := newTable("CLUSTER", "NODES", "PODS", "FAULT")
	for _, c := range all {
		t.row(c.Name, strconv.Itoa(c.Nodes), strconv.Itoa(c.Pods), c.Fault)
	}
	p.table(t, 0, "", nil)
}

func amount(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// perHour is money, of which small sums matter too.
func perHour(x float64) string {
	if x != 0 && x < 0.005 && x > -0.005 {
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// number is x without a fraction that nobody asked for.
func number(x float64) string {
	if x >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// actions are a table, with evidence and commands below each row.
func (p *page) actions(title string, actions []api.PlanAction) {
	t := newTable(title, "DECISION", "REASON", "SAVING/H", "COST", "SLOTS", "MINUTES", "PAYBACK")
	t.spare = []string{"COST", "SLOTS", "PAYBACK", "REASON"}
	for _, a := range actions {
		payback := ""
		if a.PaybackHours != nil {
			payback = age(*a.PaybackHours * time.Hour.Seconds())
		}
		hosts := names(a.Hosts)
		if more := len(hosts) - 1; more > 0 {
			hosts[0] += fmt.Sprintf(" +%d", more)
		}
		t.row(hosts[0], string(a.Decision), string(a.Reason), perHour(a.SavingPerHour),
			number(a.DisruptionCost), strconv.Itoa(a.PeakSlots), number(a.SlotMinutes), payback)
	}
	p.table(t, 0, "", func(i int) {
		p.action(actions[i])
		if i < len(actions)-1 {
			p.cut("")
		}
	})
}

// names are those of hosts; "" where there is none.
func names(hosts []api.PlanHost) (all []string) {
	for _, h := range hosts {
		all = append(all, h.Name)
	}
	if len(all) == 0 {
		return []string{""}
	}
	return all
}

// action is what stands below the row of an action.
func (p *page) action(a api.PlanAction) {
	say := func(text string) { p.say(len(underAction), underAction+text) }
	if len(a.Hosts) > 1 {
		say("hosts: " + strings.Join(names(a.Hosts), ", "))
	}
	for _, text := range a.Evidence {
		say(text)
	}
	if a.Replacement != nil {
		say("first deployed instead: " + a.Replacement.Name)
	}
	if a.Saving != "" {
		say("saving: " + a.Saving)
	}
	if len(a.Moves) > 0 {
		var moves []string
		for _, m := range a.Moves[:min(len(a.Moves), planMoves)] {
			moves = append(moves, m.Pod+" to "+m.To)
		}
		text := amount(len(a.Moves), "pod") + " would move: " + strings.Join(moves, ", ")
		if more := len(a.Moves) - planMoves; more > 0 {
			text += fmt.Sprintf(", and %d more (-o json)", more)
		}
		say(text)
	}
	if len(a.Commands) > 0 {
		say("Run, in this order:")
	}
	for _, command := range a.Commands {
		p.whole(underAction + "  " + command)
	}
}

// later are the candidates that a later plan may act on.
func (p *page) later(later []api.PlanCandidate) {
	t := newTable("LATER", "REASON", "SAVING/H", "COST", "SAVING/COST", "POOL", "NOTE")
	t.spare = []string{"POOL", "COST", "SAVING/COST"}
	for _, c := range later[:min(len(later), planLater)] {
		t.row(c.Host, string(c.Reason), perHour(c.SavingPerHour), number(c.DisruptionCost), number(c.SavingPerCost), c.Pool, c.Note)
	}
	p.table(t, max(0, len(later)-planLater), "candidates", nil)
}

// excluded counts the hosts that are no candidates, and names the first.
func (p *page) excluded(excluded []api.PlanExcluded) {
	const named = 3
	t := newTable("EXCLUDED", "FIRST CONDITION THAT IS NOT MET", "WHICH")
	for _, e := range excluded {
		shown := e.Names[:min(named, len(e.Names))]
		which := strings.Join(shown, ", ")
		if more := e.Hosts - len(shown); more > 0 && which != "" {
			which += fmt.Sprintf(" and %d more", more)
		}
		t.row(strconv.Itoa(e.Hosts), e.Condition, which)
	}
	p.table(t, 0, "", nil)
}

// PlanExplanation shows why a host is a candidate, or not.
func PlanExplanation(e api.PlanExplanation, width int) string {
	p := &page{width: width}
	p.say(0, e.Summary)
	t := newTable("CONDITION", "MET", "BECAUSE")
	for _, c := range e.Conditions {
		t.row(c.Type, yesNo(c.Met), c.Message)
	}
	if width > 0 && t.width() > width { // a message that is cut says nothing
		p.cut("")
		for _, c := range e.Conditions {
			p.say(len("yes "), fmt.Sprintf("%-3s %s: %s", yesNo(c.Met), c.Type, c.Message))
		}
		return p.String()
	}
	p.table(t, 0, "", nil)
	return p.String()
}
