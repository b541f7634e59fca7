package statusview

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// How many candidates for later, moves of an action, and names of excluded hosts Plan shows.
const (
	planLater    = 20
	planMoves    = 5
	planExcluded = 3
)

// Plan returns a plan as text.
func Plan(p api.Plan) string {
	out := &page{}
	if p.Running != nil {
		out.running(p.Running, p.MadeAt)
	}
	out.line(planHeadline(p))
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
	clusters := newTable("CLUSTER", "NODES", "PODS", "FAULT")
	for _, c := range p.Clusters {
		clusters.row(c.Name, strconv.Itoa(c.Nodes), strconv.Itoa(c.Pods), c.Fault)
	}
	out.table(clusters, 0, "")
	for _, a := range p.Actions {
		out.action(a)
	}
	later := newTable("LATER", "REASON", "SAVING/H", "COST", "SAVING/COST", "POOL", "NOTE")
	for _, c := range p.Later[:min(len(p.Later), planLater)] {
		later.row(c.Host, string(c.Reason), number(c.SavingPerHour), number(c.DisruptionCost), number(c.SavingPerCost), c.Pool, c.Note)
	}
	out.table(later, max(0, len(p.Later)-planLater), "candidates")
	excluded := newTable("EXCLUDED", "FIRST CONDITION THAT IS NOT MET", "WHICH")
	for _, e := range p.Excluded {
		excluded.row(strconv.Itoa(e.Hosts), e.Condition, first(planExcluded, e.Names, e.Hosts))
	}
	out.table(excluded, 0, "")
	return out.String()
}

// running shows planned work that is being carried out, what it waits for, and what an operator can do if it is stuck.
func (p *page) running(r *api.PlanRunning, now time.Time) {
	what := fmt.Sprintf("%s of %s", r.Decision, strings.Join(r.Hosts, ", "))
	if r.Replacement != "" {
		what += " by " + r.Replacement
	}
	age := api.Seconds(max(0, now.Sub(r.Since).Seconds()))
	p.line(fmt.Sprintf("Being carried out: %s (%s): %s, for %s", what, r.Reason, r.Step, age))
	if r.WaitsFor != "" {
		p.fieldf("waits", "%s", r.WaitsFor)
	}
	if r.LastError != "" {
		p.fieldf("error", "%s", r.LastError)
	}
	if r.Stuck && len(r.Hosts) > 0 {
		p.fieldf("stuck", `this takes longer than it should: docs/planned-work.md, "When it is stuck". To end it:`)
		namespace, name, _ := strings.Cut(r.Hosts[0], "/")
		p.line(fmt.Sprintf("    kubectl annotate bmh -n %s %s ironic-throttle.metal3.io/command-", namespace, name))
	}
	p.line("")
}

// planHeadline sums the plan up. All actions of a plan have the same decision.
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
	hosts, saving, minutes := 0, 0.0, 0.0
	for _, a := range p.Actions {
		hosts, saving, minutes = hosts+len(a.Hosts), saving+a.SavingPerHour, minutes+a.SlotMinutes
	}
	text := amount(hosts, "host") + " could be " + map[api.PlanDecision]string{
		api.PlanRelease: "released", api.PlanReplace: "replaced by a cheaper one", api.PlanReprovision: "provisioned again",
	}[p.Actions[0].Decision]
	if saving > 0 {
		text += ", saving " + number(saving) + "/h"
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

func amount(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// number returns x with three digits, or as a whole number from 100 on.
func number(x float64) string {
	if x >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// first returns the first n names, and how many of all it leaves out.
func first(n int, names []string, all int) string {
	names = names[:min(n, len(names))]
	text := strings.Join(names, ", ")
	if more := all - len(names); more > 0 && text != "" {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// action shows an action after an empty line, with its evidence below it.
func (p *page) action(a api.PlanAction) {
	var hosts, moves []string
	for _, h := range a.Hosts {
		hosts = append(hosts, fmt.Sprintf("%s (Machine %s, node %s)", h.Name, h.Machine, h.Node))
	}
	for _, m := range a.Moves {
		moves = append(moves, m.Pod+" to "+m.To)
	}
	text := fmt.Sprintf("%s: saving %s/h, cost %s, %s slot-minutes",
		a.Reason, number(a.SavingPerHour), number(a.DisruptionCost), number(a.SlotMinutes))
	if a.PaybackHours != nil {
		text += ", payback " + api.Seconds(*a.PaybackHours*time.Hour.Seconds())
	}
	p.line("")
	p.fieldf(string(a.Decision), "%s", text)
	p.line("  " + strings.Join(hosts, ", ") + " of " + a.Pool)
	for _, text := range a.Evidence {
		p.line("  " + text)
	}
	if a.Replacement != nil {
		p.line("  first deployed instead: " + a.Replacement.Name)
	}
	if a.Saving != "" {
		p.line("  saving: " + a.Saving)
	}
	if len(moves) > 0 {
		p.line("  " + amount(len(moves), "pod") + " would move: " + first(planMoves, moves, len(moves)))
	}
}

// PlanExplanation returns as text why a host is a candidate, or not.
func PlanExplanation(e api.PlanExplanation) string {
	p := &page{}
	p.line(e.Summary)
	p.line("")
	for _, c := range e.Conditions {
		p.line(fmt.Sprintf("%-3s %s: %s", yesNo(c.Met), c.Type, c.Message))
	}
	return p.String()
}
