package statusview

import (
	"cmp"
	"fmt"
	"slices"
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
	s := space{width: width}
	out := append(runningLines(p, s), foldAll([]line{{planHeadline(p), heading}}, s, 0)...)
	if p.Blocked != "" && len(p.Actions) > 0 { // else the headline says it
		out = append(out, fold(line{field("blocked", printable(p.Blocked)), alarming}, s, fieldIndent)...)
	}
	for _, fault := range p.Faults {
		out = append(out, fold(line{field("fault", printable(fault)), alarming}, s, fieldIndent)...)
	}
	made := "as of " + p.MadeAt.UTC().Format(time.DateTime) + " UTC"
	if p.Method != "" {
		made = "by " + printable(string(p.Method)) + ", " + made
	}
	out = append(out, fold(line{field("plan", fmt.Sprintf("%s: %s, %s and %s looked at", made,
		amount(p.Hosts, "host"), amount(p.Nodes, "node"), amount(p.Pods, "pod"))), usual}, s, fieldIndent)...)
	out = append(out, actionLines("HOST", p.Actions, s)...)
	out = append(out, actionLines("TO LOOK AT", p.Reports, s)...)
	out = append(out, laterLines(p.Later, s)...)
	return joined(append(out, excludedLines(p.Excluded, s)...))
}

// planHeadline is the one thing that matters.
func planHeadline(p api.Plan) string {
	if len(p.Actions) == 0 {
		switch {
		case p.Blocked != "":
			return "Nothing is planned now: " + printable(p.Blocked)
		case len(p.Later) > 0:
			return fmt.Sprintf("Nothing could be released or provisioned again now; %s for later", amount(len(p.Later), "candidate"))
		}
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
			parts = append(parts, amount(n, "host")+" could be "+decisionWord(d))
		}
	}
	text := strings.Join(parts, ", ")
	if saving > 0 {
		text += ", saving " + perHour(saving) + "/h"
	}
	text += fmt.Sprintf(" for %s slot-minutes", number(minutes))
	switch {
	case p.DryRun:
		return text + "; nothing is carried out (dry run)"
	case p.Blocked != "":
		return text + "; nothing is carried out now"
	}
	return text + "; it may be carried out from " + p.ExecuteAfter.UTC().Format(time.TimeOnly) + " UTC on, if it still holds"
}

func decisionWord(d api.PlanDecision) string {
	switch d {
	case api.PlanRelease:
		return "released"
	case api.PlanReplace:
		return "replaced by a cheaper one"
	case api.PlanReprovision:
		return "provisioned again"
	case api.PlanReport:
		return "looked at"
	}
	return printable(string(d))
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

// actionLines are the actions as a table, and below each row its evidence and its commands.
func actionLines(title string, actions []api.PlanAction, s space) []line {
	t := newTable(title, "DECISION", "REASON", "SAVING/H", "COST", "SLOTS", "MINUTES", "PAYBACK")
	t.spare = []string{"COST", "SLOTS", "PAYBACK", "REASON"}
	for _, a := range actions {
		payback := "-"
		if a.PaybackHours != nil {
			payback = age(*a.PaybackHours * time.Hour.Seconds())
		}
		t.row(heading, cell(actionHosts(a)), cell(string(a.Decision)), cell(string(a.Reason)), perHour(a.SavingPerHour),
			number(a.DisruptionCost), strconv.Itoa(a.PeakSlots), number(a.SlotMinutes), payback)
	}
	rows := t.lines(s, 0, "actions")
	if len(rows) < 2 {
		return rows
	}
	out := slices.Clone(rows[:2]) // an empty one, and the header
	for i, row := range rows[2:] {
		if i > 0 {
			out = append(out, line{})
		}
		out = append(out, row)
		out = append(out, actionDetails(actions[i], s)...)
	}
	return out
}

// actionHosts are the hosts of an action, in a cell.
func actionHosts(a api.PlanAction) string {
	if len(a.Hosts) == 0 {
		return ""
	}
	text := a.Hosts[0].Name
	if more := len(a.Hosts) - 1; more > 0 {
		text += fmt.Sprintf(" +%d", more)
	}
	return text
}

// actionDetails is what stands below the row of an action.
func actionDetails(a api.PlanAction, s space) []line {
	var out []line
	say := func(text string) {
		out = append(out, fold(line{underAction + printable(text), usual}, s, len(underAction))...)
	}
	if len(a.Hosts) > 1 {
		var names []string
		for _, h := range a.Hosts {
			names = append(names, h.Name)
		}
		say("hosts: " + strings.Join(names, ", "))
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
	for _, command := range a.Commands {
		out = append(out, line{underAction + "  " + printable(command), usual})
	}
	return out
}

// laterLines are the candidates that a later plan may act on.
func laterLines(later []api.PlanCandidate, s space) []line {
	t := newTable("LATER", "REASON", "SAVING/H", "COST", "SAVING/COST", "POOL", "NOTE")
	t.spare = []string{"POOL", "COST", "SAVING/COST"}
	for _, c := range later[:min(len(later), planLater)] {
		t.row(usual, cell(c.Host), cell(string(c.Reason)), perHour(c.SavingPerHour), number(c.DisruptionCost), number(c.SavingPerCost),
			cell(c.Pool), cell(c.Note))
	}
	return t.lines(s, max(0, len(later)-planLater), "candidates")
}

// excludedLines count the hosts that are no candidates, the commonest reason first, and name the first.
func excludedLines(excluded []api.PlanExcluded, s space) []line {
	const named = 3
	t := newTable("EXCLUDED", "FIRST CONDITION THAT IS NOT MET", "WHICH")
	all := slices.Clone(excluded)
	slices.SortStableFunc(all, func(a, b api.PlanExcluded) int { return cmp.Compare(b.Hosts, a.Hosts) })
	for _, e := range all {
		shown := e.Names[:min(named, len(e.Names))]
		which := strings.Join(shown, ", ")
		if more := e.Hosts - len(shown); more > 0 && which != "" {
			which += fmt.Sprintf(" and %d more", more)
		}
		t.row(usual, strconv.Itoa(e.Hosts), cell(e.Condition), cell(which))
	}
	return t.lines(s, 0, "reasons")
}

// beyondHeadline is what the summary says that the headline above it does not.
func beyondHeadline(e api.PlanExplanation) string {
	for _, said := range []string{e.Host + " is no candidate", e.Host + " is a candidate: " + string(e.Reason)} {
		if more, ok := strings.CutPrefix(e.Summary, said); ok {
			return strings.TrimLeft(more, ":, ")
		}
	}
	return e.Summary
}

// PlanExplanation shows why a host is a candidate, or not.
func PlanExplanation(e api.PlanExplanation, width int) string {
	s := space{width: width}
	what := "no candidate"
	if e.Candidate {
		what = "a candidate"
		if e.Reason != "" {
			what += " (" + printable(string(e.Reason)) + ")"
		}
	}
	out := []line{{printable(e.Host) + ": " + what, heading}}
	if more := beyondHeadline(e); more != "" {
		out = append(out, fold(line{printable(more), usual}, s, 0)...)
	}
	t := newTable("CONDITION", "MET", "BECAUSE")
	for _, c := range e.Conditions {
		met, w := "no", alarming
		if c.Met {
			met, w = "yes", usual
		}
		t.row(w, cell(c.Type), met, cell(c.Message))
	}
	if width > 0 && sum(t.widths()) > width { // a message that is cut says nothing
		out = append(out, line{})
		for i, c := range e.Conditions {
			text := fmt.Sprintf("%-3s %s: %s", t.rows[i+1][1], printable(c.Type), printable(c.Message))
			out = append(out, fold(line{text, t.weights[i+1]}, s, len("yes "))...)
		}
		return joined(out)
	}
	return joined(append(out, t.lines(s, 0, "conditions")...))
}
