package statusview

import (
	"fmt"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// runningLines tell of planned work that is being carried out: what, what it waits for, and whether somebody must
// do something.
func runningLines(p api.Plan, s space) []line {
	r := p.Running
	if r == nil {
		return nil
	}
	what := fmt.Sprintf("%s of %s", r.Decision, strings.Join(r.Hosts, ", "))
	if r.Replacement != "" {
		what += " by " + r.Replacement
	}
	w := heading
	if r.Stuck {
		w = alarming
	}
	step := fmt.Sprintf("%s, for %s", r.Step, age(max(0, p.MadeAt.Sub(r.Since).Seconds())))
	out := fold(line{printable(fmt.Sprintf("Being carried out: %s (%s): %s", what, r.Reason, step)), w}, s, 0)
	say := func(name, text string, w weight) {
		if text != "" {
			out = append(out, fold(line{field(name, printable(text)), w}, s, fieldIndent)...)
		}
	}
	say("waits", r.WaitsFor, usual)
	say("error", r.LastError, alarming)
	if r.Stuck {
		say("stuck", `this takes longer than it should: docs/planned-work.md, "When it is stuck". To end it:`, alarming)
		out = append(out, line{underAction + "  " + printable(endCommand(r)), usual})
	}
	return append(out, line{})
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
