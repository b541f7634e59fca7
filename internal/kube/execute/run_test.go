package execute

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func (s *stage) node(machine string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.NodeOf(machine)}}
}

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

// Nothing begins without the pool's annotation, without the lead, in a dry run, of a plan that is blocked or does not hold, while
// a real host waits, or where Machines cannot be told apart by their age. All nodes and pods are read seldom then.
func TestNothingBegins(t *testing.T) {
	for name, set := range map[string]func(s *stage){
		"not allowed": func(s *stage) { s.annotate(s.owner(), executeMark, "") },
		"stopped":     func(s *stage) { s.annotate(s.owner(), stoppedMark, "no") },
		"dry run":     func(s *stage) { s.dryRun = true },
		"blocked":     func(s *stage) { s.blocked = "paused" },
		"held":        func(s *stage) { s.hold = "a host waits" },
		"churn":       func(s *stage) { s.invalid = &disruption.Abandoned{Why: "a pod came"} },
		"claimed":     func(s *stage) { s.change(s.host("host-1"), `{"spec":{"consumerRef":{"name":"x"}}}`) },
		"other node":  func(s *stage) { s.action.Hosts[0].Node = s.NodeOf("machine-2") },
		"no node":     func(s *stage) { _ = s.Nodes.Delete(s.Context(), s.node("machine-1")) },
		"younger":     func(s *stage) { s.action.Decision = api.PlanReprovision; s.now = s.now.Add(-24 * time.Hour) },
	} {
		s := newStage(t, 0, false)
		set(s)
		for range 3 {
			if err := s.r.pass(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if s.r.plan != nil {
				s.now = s.r.plan.ExecuteAfter
			}
		}
		if name == "held" && s.states != 1 {
			t.Errorf("all nodes and pods are read %d times while work is held, and once is enough for marks that are left", s.states)
		}
		if len(s.calls) > 0 || s.r.rest() < time.Minute && s.r.plan == nil {
			t.Errorf("%s: %d writes, the next pass is in %s", name, len(s.calls), s.r.rest())
		}
	}
	s := newStage(t, 0, false)
	s.r.o.Leading = func() bool { return len(s.calls) < 2 }
	_ = s.passes(10)
	if len(s.calls) != 2 || s.r.rest() != every {
		t.Errorf("%d writes, and the lead was lost after 2; rest %s", len(s.calls), s.r.rest())
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

// Somebody changes things while a command is at work: it is abandoned with why, and all is taken back.
func TestSomebodyElse(t *testing.T) {
	const begins, larger, drains, smaller = "begins planned work", "makes the owner larger", "taints the node", "makes the owner smaller"
	spec := func(text string) func(s *stage) { return func(s *stage) { s.change(s.owner(), `{"spec":{`+text+`}}`) } }
	claimed := func(s *stage) {
		s.change(s.host("host-3"), `{"spec":{"consumerRef":{"kind":"Metal3Machine","name":"x"}}}`)
	}
	for _, row := range []struct {
		after, abandoned string
		change           func(s *stage)
		replicas         int
		gone             []string
	}{
		{begins, "a host waits", func(s *stage) { s.hold = "a host waits" }, 3, nil},
		{begins, "too old", func(s *stage) { s.now = s.now.Add(beginLimit) }, 3, nil},
		{begins, "is paused", spec(`"paused":true`), 3, nil},
		{begins, "has 3 Machines and wants 4", spec(`"replicas":4`), 4, nil},
		{begins, "does not allow it any more", func(s *stage) { s.annotate(s.owner(), executeMark, "") }, 3, nil},
		{begins, "marked by somebody else", func(s *stage) { s.annotate(s.machine("machine-1"), deleteMark, "yes") }, 3, nil},
		{begins, "may not be disrupted", func(s *stage) { s.annotate(s.machine("machine-1"), "karpenter.sh/do-not-disrupt", "true") }, 3, nil},
		{begins, "has 2 Machines and wants 3", func(s *stage) { _ = s.Own.Delete(s.Context(), s.machine("machine-1")) }, 3, []string{"machine-1"}},
		{begins, "node metal3-machine-1 is part of another command", func(s *stage) {
			s.change(s.node("machine-1"), `{"spec":{"taints":[{"key":"`+taintKey+`","value":"other","effect":"NoSchedule"}]}}`)
		}, 3, nil},
		{drains, "host metal3/host-3 is not free any more", claimed, 3, nil},
		{drains, "host metal3/host-3 is part of another command", func(s *stage) {
			s.change(s.host("host-3"), `{"metadata":{"labels":{"`+commandMark+`":"other"}}}`)
		}, 3, nil},
		{larger, "host metal3/host-3 was claimed by Metal3Machine metal3/x", claimed, 3, nil},
		{larger, "lacks the taint", func(s *stage) {
			h := s.host("host-1")
			s.annotate(h, commandMark, strings.ReplaceAll(h.Annotations[commandMark], "machine-1", "machine-2"))
		}, 3, nil},
		{larger, "smaller before", spec(`"replicas":3`), 3, nil},
		{larger, "is stopped", func(s *stage) { s.annotate(s.owner(), stoppedMark, strings.Repeat("ä", 100<<10)) }, 3, nil},
		{larger, "not ready after 3h", func(s *stage) { s.slow, s.now = true, s.now.Add(deployLimit+time.Second) }, 3, nil},
		{drains, "is not empty any more", func(s *stage) { s.pod("new", "machine-1") }, 3, nil},
		{drains, "have not left node", func(s *stage) { s.pod("new", "machine-1"); s.guarded["new"] = true; s.now = s.now.Add(drainLimit) }, 3, nil},
		{drains, "has another owner", func(s *stage) { s.change(s.machine("machine-1"), `{"metadata":{"ownerReferences":null}}`) }, 3, nil},
		{smaller, "larger again", func(s *stage) { s.slow = true; spec(`"replicas":3`)(s) }, 3, nil},
	} {
		t.Run(row.abandoned, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 1, true)
			if s.once = true; row.abandoned == "have not left node" {
				s.action.Reason = api.PlanUnderutilized
			}
			if row.after == larger || strings.Contains(row.abandoned, "host-3") {
				s.action = s.replace("host-3")
				s.pod("a", "machine-1")
			}
			changed := false
			s.hook = func(_ call, apply func() error) error {
				if !changed && strings.Contains(s.log.String(), row.after) {
					changed = true
					row.change(s)
				}
				return apply()
			}
			s.until(row.after)
			_ = s.passes(3)
			s.slow = false
			s.settle()
			if row.abandoned == "has another owner" {
				s.noticed("PlannedWorkAbandoned", row.abandoned)
				return // the player does not know of Machines of nobody
			}
			if row.abandoned == "marked by somebody else" {
				s.annotate(s.machine("machine-1"), deleteMark, "")
			}
			s.went(row.replicas, row.gone...)
			s.clean()
			s.noticed("PlannedWorkAbandoned", row.abandoned)
			if n := len(s.pods()); (n > 0) != (row.after == larger || row.after == drains) {
				t.Errorf("%d pods", n)
			}
		})
	}
}

// sight is what is seen of a command to which all is marked, while its replacement is there.
func sight(r *record) *seen {
	of := func(o client.Object, uid, label string) {
		o.SetNamespace("n")
		o.SetUID(types.UID(uid))
		o.SetLabels(map[string]string{commandMark: label})
	}
	s := &seen{host: &objects.Host{}, machine: &objects.Machine{}, node: node{Node: &corev1.Node{}}, spare: &objects.Host{}, owner: &objects.Owner{}}
	newcomer := machine{Machine: &objects.Machine{}}
	of(s.host, r.HostUID, r.ID)
	of(s.machine, r.MachineUID, r.ID)
	of(s.node, "node", "")
	of(s.spare, "spare", r.ID)
	of(s.owner, "owner", r.ID+".up.2")
	of(newcomer, "newcomer", r.ID)
	s.node.Spec.Taints = []corev1.Taint{{Key: taintKey, Value: r.ID}}
	s.owner.Annotations, s.owner.Spec.Replicas = map[string]string{executeMark: "true"}, new(2)
	s.machine.Status.NodeRef.Name = r.Node
	newcomer.CreationTimestamp.Time = r.Newest.Add(time.Second)
	s.members = []machine{{Machine: s.machine}, newcomer}
	return s
}

// What has become somebody else's is left alone; a spare loses our mark first, as its work is nobody's plan any more.
func TestSomebodyElses(t *testing.T) {
	claimed := func(h *objects.Host) {
		h.Spec.ConsumerRef, h.Spec.Online, h.Status.Provisioning.State = &corev1.ObjectReference{Kind: "Metal3Machine", Name: "x"}, true, "available"
	}
	for _, row := range []struct {
		name, want string
		at         step
		change     func(s *seen)
	}{
		{"a host is not powered off", "writes down how far it is ending", leaving, func(s *seen) { claimed(s.host); s.machine.UID = "other" }},
		{"a spare that is deployed", "removes its marks ", deploying, func(s *seen) { claimed(s.spare) }},
		{"a spare when it is taken back", "removes its marks ", ending, func(s *seen) { claimed(s.spare) }},
		{"a replacement that somebody marks", "Machine n/ is somebody else's to delete", ending, func(s *seen) { s.members[1].Annotations = map[string]string{deleteMark: "yes"} }},
		{"a replacement of another command", "Machine n/ is somebody else's to delete", ending, func(s *seen) { s.members[1].Labels[commandMark] = "other" }},
	} {
		r := record{ID: "ours", Step: row.at, Why: "why", Decision: api.PlanReplace, HostUID: "host", MachineUID: "machine", PowerOff: true}
		s := sight(&r)
		row.change(s)
		next := r.next(s, moment{now: r.Since, live: true})
		got := next.wait
		for _, w := range next.writes {
			got += w.what + " " + w.to
		}
		if got != row.want {
			t.Errorf("%s: %q, and not %q", row.name, got, row.want)
		}
	}
}

// A host that an operator has marked as planned work stays so.
func TestPlannedByAnOperator(t *testing.T) {
	s := newStage(t, 0, false)
	s.annotate(s.host("host-1"), plannedMark, "true")
	s.settle()
	s.went(2, "machine-1")
	if left, err := s.Leftovers(t.Context()); err != nil || !slices.Equal(left, []string{"host-1: " + plannedMark}) {
		t.Errorf("%v, left %q", err, left)
	}
}

// The drain does not begin while a real host waits, though the replacement is ready.
func TestADrainWaitsForRealHosts(t *testing.T) {
	s := newStage(t, 1, true)
	s.action = s.replace("host-3")
	s.pod("a", "machine-1")
	s.until("makes the owner larger")
	s.hold = "a host waits"
	s.settle()
	if r := s.r.Running(); r == nil || r.WaitsFor != "the drain does not begin: a host waits" || len(s.pods()) != 1 {
		t.Errorf("%+v, %d pods", r, len(s.pods()))
	}
	s.hold = ""
	s.settle()
	s.went(3, "machine-1")
	s.clean()
}

// Which of two MachineSets gets smaller, Cluster API chooses: nothing is done then.
func TestARolloutIsLeftAlone(t *testing.T) {
	r := record{Decision: api.PlanRelease}
	s := &seen{owner: &objects.Owner{}, members: []machine{{Machine: &objects.Machine{}, set: "a"}, {Machine: &objects.Machine{}, set: "b"}}}
	if why := r.unsettled(s); !strings.Contains(why, "rolled out") {
		t.Errorf("%q", why)
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
	s.until("makes the owner smaller")
	_ = s.Own.Delete(s.Context(), s.machine("machine-0"))
	s.settle()
	s.noticed("PlannedWorkAbandoned", "let another Machine of MachineDeployment metal3/workers go")
	s.went(2, "machine-0")
	s.clean()
	before := len(s.calls)
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
