package disrupt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// until passes until a write of that kind was made.
func (s *stage) until(what string) {
	s.Helper()
	for range 60 {
		if slices.ContainsFunc(s.w.writes, func(x Write) bool { return x.What == what }) {
			return
		}
		if err := s.pass(); err != nil {
			s.Fatal(err)
		}
	}
	s.Fatalf("nobody %s:\n%s", what, s.log.String())
}

func (s *stage) noticed(parts ...string) {
	s.Helper()
	for _, n := range s.w.notices {
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(n, p) }) {
			return
		}
	}
	s.Errorf("no Event with %q among %q", parts, s.w.notices)
}

// TestDC23_ACancelledWaitLeavesNothing: the process ends while a plan waits to be validated, and
// nothing of it is anywhere. One that does not end begins just after 15 s.
func TestDC23_ACancelledWaitLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(3, 0)
		w.now = time.Now()
		s := &stage{T: t, w: w, planner: &script{w: w, action: w.release(1)}}
		s.restart()
		s.r.o.Now = time.Now
		for _, tc := range []struct {
			after  time.Duration
			writes bool
		}{{14 * time.Second, false}, {15*time.Second + 2*time.Millisecond, true}} {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- s.r.Run(ctx) }()
			<-time.After(tc.after)
			synctest.Wait()
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if got := len(w.writes) > 0; got != tc.writes {
				t.Errorf("after %s: %d writes", tc.after, len(w.writes))
			}
			if !tc.writes {
				s.clean()
			}
			s.restart()
			s.r.o.Now = time.Now
		}
	})
}

// TestDC29_WhatHadNotBegunIsTakenBack: the process ends after it has marked the Machine, and nobody wants the host
// released any more.
func TestDC29_WhatHadNotBegunIsTakenBack(t *testing.T) {
	w := newWorld(3, 0)
	s := newStage(t, w, w.release(1))
	s.killAt(2, "before")
	s.planner.hold = "2 hosts wait"
	s.settle()
	s.oneLess(3)
	s.clean()
	s.noticed("PlannedWorkAbandoned", "has ended before anything had changed")
	if !w.hosts["host-1"].Online {
		t.Error("a host in service was powered off")
	}
}

// TestDC34_AnotherMachineGoes: Cluster API deletes another Machine than the marked one. That is said, the marked one is
// left alone, and nothing more is done for the pool until somebody allows it.
func TestDC34_AnotherMachineGoes(t *testing.T) {
	w := newWorld(3, 0)
	w.wayward = true
	s := newStage(t, w, w.release(1))
	s.settle()
	s.noticed("PlannedWorkAbandoned", "let another Machine of MachineDeployment metal3/workers go")
	if !strings.Contains(w.owner.Stopped, "machine-1") || w.owner.Replicas != 2 || w.machines["machine-1"] == nil {
		t.Errorf("stopped %q, %d replicas, gone %v", w.owner.Stopped, w.owner.Replicas, w.gone)
	}
	s.clean()
	writes := len(w.writes)
	s.settle()
	if len(w.writes) != writes {
		t.Error("it went on")
	}
	w.owner.Stopped, w.wayward = "", false
	s.settle()
	if w.machines["machine-1"] != nil {
		t.Error("it does not go on when it may")
	}
}

// TestSomebodyMakesThePoolLargerAgain before Cluster API has deleted the Machine: it stays, without marks.
func TestSomebodyMakesThePoolLargerAgain(t *testing.T) {
	w := newWorld(3, 0)
	w.slow = true
	s := newStage(t, w, w.release(1))
	s.until("makes the owner smaller")
	w.owner.Replicas = 3
	w.bump(&w.owner.Object)
	s.planner.hold = "enough"
	w.slow = false
	s.settle()
	s.oneLess(3)
	s.clean()
	s.noticed("PlannedWorkAbandoned", "larger again")
}

// TestReadsOfDifferentTimes: Cluster API deletes the marked Machine between two reads of one look. That is
// not taken for another one that went.
func TestReadsOfDifferentTimes(t *testing.T) {
	for _, x := range works {
		t.Run(x.name, func(t *testing.T) {
			w := x.world()
			w.torn = true
			s := newStage(t, w, x.action(w))
			s.settle()
			s.clean()
			x.end(s)
			if n := strings.Join(w.notices, "\n"); strings.Contains(n, "Abandoned") {
				t.Error(n)
			}
		})
	}
}

// TestDC32_ReprovisionEndsWithTheReplacement: not before another Machine is Ready.
func TestDC32_ReprovisionEndsWithTheReplacement(t *testing.T) {
	x := works[1]
	w := x.world()
	s := newStage(t, w, x.action(w))
	w.slow = true
	s.until("deletes the Machine")
	for range 10 {
		_ = s.pass()
	}
	if st := s.r.Status(); w.machines["machine-1"] != nil || st.Command == nil || !strings.Contains(st.Waiting, "gets a Machine that is ready") {
		t.Errorf("%+v", st)
	}
	w.slow = false
	s.settle()
	x.end(s)
	s.clean()
}

// TestAFreedHostThatSomebodyTookIsNotPoweredOff.
func TestAFreedHostThatSomebodyTookIsNotPoweredOff(t *testing.T) {
	w := newWorld(3, 0)
	s := newStage(t, w, w.release(1))
	s.until("makes the owner smaller")
	for range 10 {
		w.turn()
	}
	h := w.hosts["host-1"]
	h.Consumer, h.State = "Metal3Machine other/machine", "provisioning"
	w.bump(&h.Object)
	s.settle()
	s.clean()
	if !h.Online {
		t.Error("it is powered off")
	}
}

// TestAStuckCommandIsToldOnce and goes on when it can.
func TestAStuckCommandIsToldOnce(t *testing.T) {
	w := newWorld(3, 0)
	w.slow = true
	s := newStage(t, w, w.release(1))
	s.until("makes the owner smaller")
	w.now = w.now.Add(otherLimit + time.Second)
	s.settle()
	s.noticed("PlannedWorkStuck", "stage leaving", "Cluster API deletes a Machine")
	if n := strings.Count(strings.Join(w.notices, "\n"), "BareMetalHost PlannedWorkStuck"); n != 1 {
		t.Errorf("told %d times", n)
	}
	if st := s.r.Status(); !st.Stuck || st.Command == nil || st.Command.Targets[0].Host.Name != "host-1" {
		t.Errorf("%+v", st)
	}
	w.slow = false
	s.settle()
	s.oneLess(2, "machine-1")
	s.clean()
}

// TestForbiddenNamesTheComponent and nothing is lost.
func TestForbiddenNamesTheComponent(t *testing.T) {
	w := newWorld(3, 0)
	s := newStage(t, w, w.release(1))
	w.hook = func(Write, func() error) error { return fmt.Errorf("%w: patch", ErrForbidden) }
	var last error
	for range 3 {
		last = s.pass()
	}
	if last == nil || !strings.Contains(last.Error(), "planner-execute") {
		t.Errorf("error %v", last)
	}
	w.hook = nil
	s.settle()
	s.oneLess(2, "machine-1")
}

// TestStraysAreRemoved: marks without a command, whoever lost it.
func TestStraysAreRemoved(t *testing.T) {
	w := newWorld(3, 0)
	s := newStage(t, w, w.release(1))
	s.planner.hold = "not now"
	w.hosts["host-0"].Label, w.hosts["host-0"].Record, w.hosts["host-0"].Planned = "lost01", "{", true
	w.machines["machine-0"].Label, w.machines["machine-0"].Marked, w.machines["machine-0"].Mark = "lost01", true, "ironic-throttle-lost01"
	w.machines["machine-2"].Label, w.machines["machine-2"].Marked, w.machines["machine-2"].Mark = "lost02", true, "somebody's"
	w.nodes["node-of-machine-0"].Label, w.nodes["node-of-machine-0"].Tainted = "lost01", true
	w.owner.Label = "lost01.up.4"
	s.settle()
	if m := w.machines["machine-2"]; !m.Marked || m.Label != "" {
		t.Errorf("somebody's mark: %+v", m)
	}
	w.machines["machine-2"].Marked = false
	s.clean()
}

// TestAStrayMarkStaysWhileItsMachineMustGo: the owner was made smaller by a command whose record is lost.
func TestAStrayMarkStaysWhileItsMachineMustGo(t *testing.T) {
	w := newWorld(3, 0)
	w.slow = true
	s := newStage(t, w, w.release(1))
	s.until("makes the owner smaller")
	h := w.hosts["host-1"]
	h.Record = ""
	w.bump(&h.Object)
	s.planner.hold = "not now"
	s.settle()
	if m := w.machines["machine-1"]; !m.Marked || h.Label != "" {
		t.Errorf("%+v, host %q", m, h.Label)
	}
	w.slow = false
	s.settle()
	s.oneLess(2, "machine-1")
	s.clean()
}

// TestActionsThatAreNotCarriedOut: each is refused with why.
func TestActionsThatAreNotCarriedOut(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(w *world, a *api.PlanAction)
		why    string
	}{
		"no Machine":     {func(_ *world, a *api.PlanAction) { a.Hosts[0].Machine = "" }, "has no Machine"},
		"another host":   {func(w *world, _ *api.PlanAction) { w.hosts["host-1"].Consumer = "Metal3Machine metal3/x" }, "is claimed by"},
		"marked already": {func(w *world, _ *api.PlanAction) { w.machines["machine-1"].Marked = true }, "already"},
		"another node":   {func(w *world, _ *api.PlanAction) { w.machines["machine-1"].Node = "n" }, "the plan has"},
		"other owner":    {func(w *world, _ *api.PlanAction) { w.machines["machine-1"].Owner = Pool{} }, "another owner"},
		"control plane":  {func(w *world, _ *api.PlanAction) { w.machines["machine-1"].Other = "KubeadmControlPlane x" }, "another owner"},
		"deleting":       {func(w *world, _ *api.PlanAction) { w.hosts["host-1"].Deleting = true }, "is gone"},
		"young": {func(w *world, a *api.PlanAction) {
			*a = w.replace("host-3", 1)
			w.machines["machine-0"].Created = w.now.Add(time.Minute)
		}, "younger"},
		"rolled out":      {func(w *world, _ *api.PlanAction) { w.machines["machine-0"].Set = "workers-2" }, "rolled out"},
		"not settled":     {func(w *world, _ *api.PlanAction) { w.slow = true; w.owner.Replicas = 4 }, "has 3 Machines and wants 4"},
		"not by itself":   {func(w *world, a *api.PlanAction) { a.Pool = ""; w.machines["machine-1"].Owner = Pool{} }, "does not allow it itself"},
		"no replacement":  {func(_ *world, a *api.PlanAction) { a.Decision = api.PlanReplace }, "no replacement"},
		"names":           {func(_ *world, a *api.PlanAction) { a.Hosts[0].Name = "host-1" }, "NAMESPACE/NAME"},
		"other decisions": {func(_ *world, a *api.PlanAction) { a.Decision = "burn" }, "none that is carried out"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3, 1)
			a := w.release(1)
			tc.change(w, &a)
			s := newStage(t, w, a)
			for range 4 {
				if err := s.pass(); err != nil {
					t.Fatal(err)
				}
			}
			if len(w.writes) != 0 || !strings.Contains(s.log.String(), tc.why) {
				t.Errorf("%d writes, log\n%s", len(w.writes), s.log.String())
			}
		})
	}
}
