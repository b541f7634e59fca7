package execute

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// What the log and Events tell of a release, and in which order it writes.
func TestRelease(t *testing.T) {
	s := newStage(t, 0, true)
	s.action.Hosts = append(s.action.Hosts, s.release(2).Hosts...) // by the time the first one has gone, the plan is old
	s.settle()
	s.went(2, "machine-1")
	s.clean()
	var order []string
	for _, line := range strings.Split(s.log.String(), "\n") {
		if _, what, ok := strings.Cut(line, `msg="planned work" what="`); ok && !strings.HasPrefix(what, "writes down") {
			order = append(order, strings.Split(what, `"`)[0])
		}
	}
	want := []string{
		"begins planned work", "taints the node", "marks the Machine", "makes the owner smaller", "powers the host off", "removes its mark", "removes its marks",
	}
	if !slices.Equal(order, want) {
		t.Errorf("writes %q", order)
	}
	s.noticed("MachineDeployment", "PlannedWorkStarted", "no pods")
	s.noticed("BareMetalHost", "PlannedWorkFinished")
	for _, word := range []string{"from=3 to=2", "action=action-1", `evidence="[no pods]"`, "savingPerHour=0.1"} {
		if !strings.Contains(s.log.String(), word) {
			t.Errorf("the log lacks %s:\n%s", word, s.log.String())
		}
	}
}

// Nothing begins without the pool's annotation, without the lead, in a dry run, of a plan that is blocked, or while a real
// host waits. All nodes and pods are read seldom then.
func TestNothingBegins(t *testing.T) {
	for name, set := range map[string]func(s *stage){
		"not allowed": func(s *stage) { s.annotate(s.owner(), executeMark, "") },
		"stopped":     func(s *stage) { s.annotate(s.owner(), stoppedMark, "no") },
		"dry run":     func(s *stage) { s.dryRun = true },
		"blocked":     func(s *stage) { s.blocked = "paused" },
		"held":        func(s *stage) { s.hold = "a host waits" },
		"waiting":     func(s *stage) { s.waiting = 1 },
		"churn": func(s *stage) {
			s.invalid = &disruption.Abandoned{Why: "a pod came"}
			_ = s.pass()
			s.now = s.r.plan.ExecuteAfter
		},
	} {
		s := newStage(t, 0, false)
		set(s)
		if err := s.pass(); err != nil || s.r.rest() < time.Minute {
			t.Errorf("%s: %v, the next pass is in %s", name, err, s.r.rest())
		}
		s.settle()
		if len(s.calls) > 0 {
			t.Errorf("%s: %d writes", name, len(s.calls))
		}
	}
	s := newStage(t, 0, false)
	s.r.o.Leading = func() bool { return len(s.calls) < 2 }
	_ = s.passes(10)
	if len(s.calls) != 2 || s.r.rest() != every {
		t.Errorf("%d writes, and the lead was lost after 2; rest %s", len(s.calls), s.r.rest())
	}
}

// Each is refused with why.
func TestActionsThatAreNotCarriedOut(t *testing.T) {
	for why, change := range map[string]func(s *stage){
		"and not by Machine":       func(s *stage) { s.action.Hosts[0].Machine = "" },
		"is claimed by":            func(s *stage) { s.change(s.host("host-1"), `{"spec":{"consumerRef":{"name":"x"}}}`) },
		"the plan has":             func(s *stage) { s.action.Hosts[0].Node = "other" },
		"part of another command":  func(s *stage) { s.annotate(s.host("host-1"), commandMark, "x") },
		"none that is carried out": func(s *stage) { s.action.Decision = "burn" },
		"younger than":             func(s *stage) { s.action.Decision = reprovision; s.now = s.now.Add(-24 * time.Hour) },
	} {
		s := newStage(t, 0, false)
		change(s)
		_ = s.passes(2)
		s.now = s.now.Add(disruption.ValidateAfter)
		if _ = s.pass(); len(s.calls) != 0 || s.r.rest() < time.Minute || !strings.Contains(s.log.String(), why) {
			t.Errorf("%s: %d writes, log\n%s", why, len(s.calls), s.log.String())
		}
	}
}

// A plan is not carried out before it is 15 s old. The process ends before that, and nothing of it is anywhere.
func TestAPlanWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 0, false)
		s.r.o.Now = func() time.Time { return time.Now().Add(24 * time.Hour * 365 * 40) }
		for after, writes := range map[time.Duration]bool{14 * time.Second: false, 15*time.Second + 2*time.Millisecond: true} {
			s.calls, s.r.plan = nil, nil
			ctx, cancel := context.WithTimeout(t.Context(), after)
			if err := s.r.Run(ctx); err != nil || (len(s.calls) > 0) != writes {
				t.Errorf("after %s: %v, %d writes", after, err, len(s.calls))
			}
			cancel()
			if writes {
				break
			}
			s.clean()
		}
	})
}

// A plan that is due does not make the Runner ask without rest while the API server is away.
func TestAPlanThatIsDueDoesNotSpin(t *testing.T) {
	s := newStage(t, 0, false)
	_ = s.pass()
	s.now, s.reads = s.r.plan.ExecuteAfter.Add(time.Second), errAway
	if err := s.pass(); err == nil || s.r.rest() < every {
		t.Errorf("%v, the next pass is in %s", err, s.r.rest())
	}
}

// Somebody changes things when the owner was made larger for the replacement of host-1, whose 25 pods have to leave: all is taken
// back.
func TestSomebodyElse(t *testing.T) {
	for abandoned, change := range map[string]func(s *stage){
		"lacks the taint": func(s *stage) {
			h := s.host("host-1")
			s.annotate(h, commandMark, strings.ReplaceAll(h.Annotations[commandMark], "machine-1", "machine-2"))
		},
		"smaller before":     func(s *stage) { s.change(s.owner(), `{"spec":{"replicas":3}}`) },
		"is stopped":         func(s *stage) { s.annotate(s.owner(), stoppedMark, strings.Repeat("ä", 100<<10)) },
		"not ready after 3h": func(s *stage) { s.Slow, s.now = true, s.now.Add(deployLimit+time.Second) },
	} {
		t.Run(abandoned, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 1, true)
			s.action, s.once = s.replace("host-3"), true
			for i := range 25 {
				s.pod(fmt.Sprint("pod-", i), "machine-1")
			}
			changed := false
			s.hook = func(_ call, apply func() error) error {
				if !changed && strings.Contains(s.log.String(), "makes the owner larger") {
					changed = true
					change(s)
				}
				return apply()
			}
			s.until("makes the owner larger")
			_ = s.passes(3)
			s.Slow = false
			s.settle()
			s.went(3)
			s.clean()
			s.noticed("PlannedWorkAbandoned", abandoned)
			if n := len(s.pods()); n != 25 {
				t.Errorf("%d pods", n)
			}
		})
	}
}

// The replacement got another host: it is taken back, and the pool stopped until somebody allows it.
func TestAReplacementOnAnotherHost(t *testing.T) {
	s := newStage(t, 2, false)
	s.action = s.replace("host-4")
	s.settle()
	s.went(3)
	s.clean()
	s.noticed("PlannedWorkAbandoned", "got host metal3/host-3, and not metal3/host-4")
	if text := s.owner().Annotations[stoppedMark]; !strings.Contains(text, "hostSelector") {
		t.Errorf("stopped %q", text)
	}
}

// Cluster API lets another Machine go than the marked one: that is said, the marked one is left alone, and nothing more is done
// for the pool until somebody allows it.
func TestAnotherMachineGoes(t *testing.T) {
	s := newStage(t, 0, false)
	s.Wayward = true
	s.settle()
	s.noticed("PlannedWorkAbandoned", "let another Machine of MachineDeployment metal3/workers go")
	s.went(2, "machine-0")
	s.clean()
	before := len(s.calls)
	s.Wayward = false
	s.settle()
	if len(s.calls) != before {
		t.Error("it went on")
	}
	s.annotate(s.owner(), stoppedMark, "")
	s.settle()
	if found(s.machine("machine-1")) {
		t.Error("it does not go on when it may")
	}
}

// Ten pods that wait for their PodDisruptionBudget, or whose eviction fails, do not keep the others, and nothing is forced.
func TestPodsThatCannotGo(t *testing.T) {
	for name, refuse := range map[string]error{"": nil, "two budgets": fmt.Errorf("500: it has more than one PodDisruptionBudget")} {
		s := newStage(t, 1, true)
		s.action = s.replace("host-3")
		for i := range 25 {
			s.pod(fmt.Sprintf("pod-%02d", i), "machine-1")
			s.guarded[fmt.Sprintf("pod-%02d", i)] = i < 12
		}
		s.hook = func(c call, apply func() error) error {
			if c.verb == "evict" && refuse != nil && s.guarded[c.on.GetName()] {
				return refuse
			}
			return apply()
		}
		last := s.passes(40)
		if n := len(s.pods()); n != 12 || (last != nil) != (refuse != nil) {
			t.Errorf("%q: %v, %d pods are left, and 12 could not go", name, last, n)
		}
		s.now = s.now.Add(drainLimit)
		_ = s.passes(2)
		s.noticed("PlannedWorkStuck", "12 pods leave node")
		s.guarded, s.hook = nil, nil
		s.settle()
		s.went(3, "machine-1")
		s.clean()
	}
}

// The cluster of the nodes is away: nothing begins, a drain waits and says so, and a taint is removed when it is
// back, though the command has ended.
func TestAClusterIsAway(t *testing.T) {
	s := newStage(t, 0, true)
	s.away, s.action.Reason = errAway, api.PlanUnderutilized
	if _ = s.passes(4); len(s.calls) > 0 || !strings.Contains(s.log.String(), "cluster metal3/c cannot be read") {
		t.Errorf("%d writes before it begins\n%s", len(s.calls), s.log.String())
	}
	s.away = nil
	s.pod("a", "machine-1")
	s.guarded["a"] = true
	s.until("from=begun to=draining")
	s.away = errAway
	before := len(s.calls)
	_ = s.passes(3)
	if r := s.r.Running(); r == nil || len(s.calls) != before || r.WaitsFor != "cluster metal3/c answers" || !strings.Contains(r.LastError, errAway.Error()) {
		t.Fatalf("%d writes, %+v\n%s", len(s.calls)-before, r, s.log.String())
	}
	s.hold = "enough"
	s.annotate(s.owner(), executeMark, "")
	_ = s.passes(3)
	if left, _ := s.Leftovers(t.Context()); s.r.Running().Step != `it is taken back, because MachineDeployment metal3/workers does not allow it any more (annotation ironic-throttle.metal3.io/execute)` || len(left) < 2 {
		t.Errorf("%+v, left %q", s.r.Running(), left)
	}
	s.now = s.now.Add(otherLimit)
	_ = s.passes(3)
	if left, _ := s.Leftovers(t.Context()); s.r.Running() != nil || len(left) != 1 || !strings.Contains(left[0], "taint") {
		t.Errorf("%+v, left %q after long", s.r.Running(), left)
	}
	s.away, s.hold, s.once = nil, "", true
	s.settle()
	s.went(3)
	s.clean()
}
