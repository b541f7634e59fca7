package disrupt

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// replacing is a world in which machine-1 is replaced by one on host-3.
func replacing(t *testing.T) *stage {
	t.Helper()
	w := newWorld(3, 1)
	for i := range 25 {
		w.pod("pod-"+string(rune('a'+i)), "node-of-machine-1")
	}
	return newStage(t, w, w.replace("host-3", 1))
}

// TestDC33_Replace: the old node is tainted, the replacement is planned work until it is Ready, then the pods are evicted,
// and then the Machine goes.
func TestDC33_Replace(t *testing.T) {
	s := replacing(t)
	s.settle()
	s.replaced("machine-1")
	s.clean()
	var order []string
	for _, x := range s.w.writes {
		if what := x.What; !strings.Contains(what, "how far") && (len(order) == 0 || order[len(order)-1] != what) {
			order = append(order, what)
		}
	}
	want := []string{
		"begins planned work", "marks the replacement's host as planned work", "taints the node", "makes the owner larger", "evicts a pod",
		"marks the Machine", "makes the owner smaller", "powers the host off", "removes its mark", "removes its marks",
	}
	if !slices.Equal(order, want) {
		t.Errorf("writes %q", order)
	}
}

// TestDC25_ADrainThatHasBegunGoesOn while real hosts wait; one that has not does not begin.
func TestDC25_ADrainThatHasBegunGoesOn(t *testing.T) {
	s := replacing(t)
	s.until("makes the owner larger")
	s.planner.hold = "3 hosts wait"
	for range 20 {
		if err := s.pass(); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.w.pods) != 25 || !strings.Contains(s.r.Status().Waiting, "3 hosts wait") {
		t.Errorf("%d pods, %+v", len(s.w.pods), s.r.Status())
	}
	s.planner.hold = ""
	s.until("evicts a pod")
	s.planner.hold = "3 hosts wait"
	s.settle()
	s.replaced("machine-1")
	s.clean()
}

// TestBudgetsOfPodsHold: an eviction that is refused is tried again, and nothing is forced.
func TestBudgetsOfPodsHold(t *testing.T) {
	s := replacing(t)
	s.w.guarded["pod-a"] = true
	s.w.pods["pod-b"].DoNotDisrupt = true
	s.settle()
	s.w.now = s.w.now.Add(drainLimit)
	s.settle()
	if len(s.w.pods) != 2 || s.w.machines["machine-1"] == nil || s.w.machines["machine-1"].Deleting {
		t.Errorf("pods %v", sortedKeys(s.w.pods))
	}
	s.noticed("PlannedWorkStuck", "default/pod-b may not be disrupted", "2 pods leave node node-of-machine-1")
	s.w.guarded, s.w.pods["pod-b"].DoNotDisrupt = nil, false
	s.settle()
	s.replaced("machine-1")
	s.clean()
}

// TestAReplacementThatIsNeverReadyIsTakenBack: it goes, and not another Machine.
func TestAReplacementThatIsNeverReadyIsTakenBack(t *testing.T) {
	s := replacing(t)
	s.until("makes the owner larger")
	s.w.now = s.w.now.Add(deployLimit)
	for _, m := range s.w.machines {
		m.Ready = m.Name != "machine-3" && m.Ready
	}
	h := s.w.hosts["host-3"]
	h.State, h.Consumer = "provisioning failed", "Metal3Machine metal3/machine-3"
	s.planner.hold = "enough"
	s.settle()
	s.oneLess(3, "machine-3")
	s.clean()
	s.noticed("PlannedWorkAbandoned", "not ready after 3h")
	if len(s.w.pods) != 25 {
		t.Errorf("%d pods", len(s.w.pods))
	}
}

// TestAReplacementOnAnotherHost is taken back, and the pool stopped: it would happen again.
func TestAReplacementOnAnotherHost(t *testing.T) {
	w := newWorld(3, 2)
	s := newStage(t, w, w.replace("host-4", 1))
	s.settle()
	s.oneLess(3, "machine-3")
	s.clean()
	s.noticed("PlannedWorkAbandoned", "got host metal3/host-3, and the plan counts with metal3/host-4")
	if !strings.Contains(w.owner.Stopped, "hostSelector") {
		t.Errorf("stopped %q", w.owner.Stopped)
	}
}

// TestTheReplacementsHostIsTakenBySomebody: it is planned work no more, and the replacement is taken back.
func TestTheReplacementsHostIsTakenBySomebody(t *testing.T) {
	s := replacing(t)
	s.w.hook = func(x Write, apply func() error) error {
		err := apply()
		if x.What == "makes the owner larger" {
			h := s.w.hosts["host-3"]
			h.Consumer, h.State = "Metal3Machine other/machine", "provisioning"
			s.w.bump(&h.Object)
		}
		return err
	}
	s.until("makes the owner larger")
	s.planner.hold = "enough"
	s.settle()
	s.oneLess(3, "machine-3")
	s.clean()
	s.noticed("PlannedWorkAbandoned", "was claimed by Metal3Machine other/machine")
}

// TestTheOldMachineGoesMeanwhile: what was raised is lowered again by the replacement alone.
func TestTheOldMachineGoesMeanwhile(t *testing.T) {
	s := replacing(t)
	s.until("makes the owner larger")
	old := s.w.machines["machine-1"]
	old.Deleting = true
	s.w.bump(&old.Object)
	s.planner.hold = "enough"
	s.w.now = s.w.now.Add(time.Second)
	s.settle()
	if s.w.owner.Replicas != 3 || len(s.w.machines) != 3 || s.w.machines["machine-0"] == nil || s.w.machines["machine-2"] == nil {
		t.Errorf("%d replicas, gone %v", s.w.owner.Replicas, s.w.gone)
	}
	s.clean()
}

// TestAReplacementThatIsDeleted by a MachineHealthCheck, or by hand: nothing is drained for it, and taking it
// back takes no other Machine.
func TestAReplacementThatIsDeleted(t *testing.T) {
	for name, withdraws := range map[string]bool{"another comes": false, "it is taken back": true} {
		s := replacing(t)
		s.until("makes the owner larger")
		for range 3 {
			if len(s.w.machines) == 4 && s.w.machines["machine-3"].Ready {
				break
			}
			s.w.turn()
		}
		m := s.w.machines["machine-3"]
		m.Deleting = true
		s.w.bump(&m.Object)
		if withdraws {
			s.w.owner.Execute = false
			s.w.bump(&s.w.owner.Object)
		}
		if err := s.r.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		if x := s.w.writes[len(s.w.writes)-1]; x.Evict || x.What == "makes the owner smaller" {
			t.Errorf("%s: %s %s", name, x.Object.Kind, x.What)
		}
		s.settle()
		if withdraws && (s.w.machines["machine-0"] == nil || s.w.machines["machine-1"] == nil || s.w.machines["machine-2"] == nil || len(s.w.machines) != 3) {
			t.Errorf("%s: gone %v", name, s.w.gone)
		}
		s.clean()
	}
}

// TestADrainPassesByPodsThatCannotGo: ten that wait for their budget, or one whose eviction fails, do not keep the others.
func TestADrainPassesByPodsThatCannotGo(t *testing.T) {
	for name, refuse := range map[string]error{"budget": ErrBudget, "two budgets": errors.New("500: it has more than one PodDisruptionBudget")} {
		s := replacing(t)
		first := sortedKeys(s.w.pods)[:12]
		s.w.hook = func(x Write, apply func() error) error {
			if x.Evict && slices.Contains(first, x.Object.Name) {
				return refuse
			}
			return apply()
		}
		for range 40 {
			_ = s.pass()
		}
		if len(s.w.pods) != len(first) {
			t.Errorf("%s: %d pods are left, and %d could not go", name, len(s.w.pods), len(first))
		}
		if err := s.pass(); name != "budget" && (err == nil || !strings.Contains(err.Error(), "more than one")) {
			t.Errorf("%s: %v", name, err)
		}
		s.w.hook = nil
		s.settle()
		s.replaced("machine-1")
		s.clean()
	}
}
