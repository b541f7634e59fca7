package execute

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Running and Warnings tell what a command waits for, that it is stuck with its remedy, and nothing when it has ended.
func TestStuck(t *testing.T) {
	s := newStage(t, 0, false)
	s.slow = true
	s.until("makes the owner smaller")
	_ = s.passes(2)
	r := s.r.Running()
	if r == nil || r.Step != steps[leaving] ||
		r.WaitsFor != "Cluster API deletes a Machine of MachineDeployment metal3/workers" || r.Stuck || len(s.r.Warnings(s.now)) > 0 {
		t.Fatalf("%+v, %q", r, s.r.Warnings(s.now))
	}
	s.now = r.Since.Add(otherLimit + time.Second)
	_ = s.passes(3)
	want := "planned work is stuck: the release of host metal3/host-1 has been in one step since " + r.Since.Format(time.RFC3339)
	if all := s.r.Warnings(s.now); len(all) != 1 || !strings.HasPrefix(all[0], want) ||
		!strings.Contains(all[0], "remove the annotation ironic-throttle.metal3.io/command of BareMetalHost metal3/host-1") {
		t.Errorf("%q", all)
	}
	if n := strings.Count(s.log.String(), "is stuck in step leaving"); n != 1 {
		t.Errorf("told %d times", n)
	}
	s.noticed("PlannedWorkStuck")
	s.slow = false
	s.settle()
	if r := s.r.Running(); r != nil || len(s.r.Warnings(s.now)) > 0 {
		t.Errorf("%+v, %q when it has ended", r, s.r.Warnings(s.now))
	}
}

// What fails for five minutes is warned of, in one line, and a right that is missing with its component.
func TestWhatFailsForLong(t *testing.T) {
	s := newStage(t, 0, false)
	s.until("begins planned work")
	s.hook = func(call, func() error) error { return apierrors.NewForbidden(schema.GroupResource{}, "x", nil) }
	_ = s.passes(4)
	if all := s.r.Warnings(s.now); len(all) != 0 {
		t.Errorf("%q before it has lasted", all)
	}
	_ = s.passes(60)
	all := s.r.Warnings(s.now)
	if len(all) != 1 || !strings.Contains(all[0], "planned work has not gone on since") || !strings.Contains(all[0], "planner-execute") {
		t.Errorf("%q", all)
	}
	if n := strings.Count(s.log.String(), "does not go on"); n != 1 {
		t.Errorf("told %d times\n%s", n, s.log.String())
	}
}

// The remedy: somebody removes the record after any pass, and no mark is left. A Machine that must go for what was done still
// goes, and no other.
func TestTheRecordIsRemoved(t *testing.T) {
	for _, x := range works {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			removed := 0
			for passes := 1; passes < 16; passes += 3 {
				s := x.stage(t)
				_ = s.passes(passes)
				c := s.r.Running()
				if c == nil {
					continue
				}
				removed++
				s.hold = "not now"
				s.annotate(s.host(strings.TrimPrefix(c.Hosts[0], "metal3/")), commandMark, "")
				s.settle()
				s.clean()
				if slices.Contains(s.Gone, "machine-0") || s.r.Running() != nil {
					t.Errorf("after %d passes: gone %v, %+v", passes, s.Gone, s.r.Running())
				}
			}
			if removed == 0 {
				t.Error("nothing was ever carried out")
			}
		})
	}
}

// The record is removed just after the owner was made smaller, while work is held: the owner keeps its mark until the Machine has
// gone, and loses it then.
func TestTheRecordIsRemovedWhileAMachineGoes(t *testing.T) {
	s := newStage(t, 0, false)
	s.until("makes the owner smaller")
	s.hold = "not now"
	s.annotate(s.host("host-1"), commandMark, "")
	s.settle()
	s.went(2, "machine-1")
	s.clean()
}

// Marks without a command go, whoever lost it. One that cannot be removed is told of once, and stops nobody.
func TestStrays(t *testing.T) {
	s := newStage(t, 0, true)
	s.hold = "not now"
	label := `{"metadata":{"labels":{"ironic-throttle.metal3.io/command":%q},"annotations":{%q:%q}}}`
	s.change(s.host("host-0"), fmt.Sprintf(label, "lost01", plannedMark, "true"))
	s.change(s.machine("machine-0"), fmt.Sprintf(label, "lost01", deleteMark, mark("lost01")))
	s.change(s.machine("machine-2"), fmt.Sprintf(label, "lost02", deleteMark, "somebody's"))
	s.change(s.owner(), fmt.Sprintf(label, "lost01.up.4", "a", "b"))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.NodeOf("machine-0")}}
	s.change(node, `{"spec":{"taints":[{"key":"ironic-throttle.metal3.io/disrupting","value":"lost01","effect":"NoSchedule"},{"key":"a","effect":"NoSchedule"}]}}`)
	s.hook = func(c call, apply func() error) error {
		if c.on.GetName() == "host-0" {
			return fmt.Errorf("denied by a webhook")
		}
		return apply()
	}
	_ = s.passes(3)
	if n := strings.Count(s.log.String(), "denied by a webhook"); n != 1 {
		t.Errorf("told %d times\n%s", n, s.log.String())
	}
	if got := s.machine("machine-2").Annotations[deleteMark]; got != "somebody's" {
		t.Errorf("somebody's mark is %q", got)
	}
	if err := s.Nodes.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil || len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != "a" {
		t.Errorf("%v, taints %v", err, node.Spec.Taints)
	}
	s.hook = nil
	s.annotate(s.machine("machine-2"), deleteMark, "")
	s.settle()
	s.clean()
}

// A record on a host that a tenant may write changes nothing of what it names, besides marks that go again.
func TestAForgedRecordChangesNothingElse(t *testing.T) {
	for at := range steps {
		for _, decision := range []api.PlanDecision{api.PlanRelease, api.PlanReplace, api.PlanReprovision} {
			s := newStage(t, 1, false)
			h, m := s.host("host-0"), s.machine("machine-1")
			r := record{
				ID: "forged01", Decision: decision, Reason: api.PlanUnderutilized, Pool: "MachineDeployment metal3/workers", Step: at,
				Host: keyOf(h), HostUID: string(h.UID), Machine: keyOf(m), MachineUID: string(m.UID), Node: s.NodeOf("machine-1"),
				Spare: "metal3/host-3", Started: s.now, Since: s.now,
			}
			s.pod("pod", "machine-1")
			s.change(h, fmt.Sprintf(`{"metadata":{"labels":{%q:%q},"annotations":{%q:%q}}}`, commandMark, r.ID, commandMark, r.text()))
			s.hold = "not now"
			_ = s.passes(8)
			for _, c := range s.calls {
				if c.verb != "patch" || strings.Contains(c.body, "replicas") || strings.Contains(c.body, "taints") || strings.Contains(c.body, `delete-machine":"`) ||
					strings.Contains(c.body, `stopped":"`) || strings.Contains(c.body, "online") {
					t.Errorf("%s %s: %s %s %s", at, decision, c.verb, name(c.on), c.body)
				}
			}
		}
	}
}

// A host that clusterctl has moved, or a backup brought back, has the record of another one: it is none.
func TestARecordOfAnotherHost(t *testing.T) {
	s := newStage(t, 1, false)
	s.action = s.replace("host-3")
	s.until("makes the owner larger")
	s.hold = "not now"
	s.change(s.host("host-1"), `{"metadata":{"uid":"copy"}}`)
	s.settle()
	s.clean()
	if len(s.Gone) > 0 {
		t.Errorf("gone %v", s.Gone)
	}
}

// A rollback in the midst of a replacement: the older program changes nothing of what it does not understand, begins nothing
// else, and tells what to do. Back again, the later one goes on.
func TestARecordOfAnotherVersion(t *testing.T) {
	s := newStage(t, 1, false)
	s.action = s.replace("host-3")
	s.until("makes the owner larger")
	ours := s.host("host-1").Annotations[commandMark]
	s.annotate(s.host("host-1"), commandMark, strings.Replace(ours, `"version":1`, `"version":2`, 1))
	s.restart()
	before := len(s.calls)
	_ = s.passes(3)
	s.now = s.now.Add(failsFor)
	if all := s.r.Warnings(s.now); len(s.calls) != before || len(all) != 1 || !strings.Contains(all[0], "host metal3/host-1") {
		t.Errorf("%d writes, %q", len(s.calls)-before, all)
	}
	s.annotate(s.host("host-1"), commandMark, ours)
	s.settle()
	s.went(3, "machine-1")
	s.clean()
}
