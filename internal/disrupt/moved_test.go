package disrupt

import (
	"strings"
	"testing"
)

// TestARecordThatCameWithACopyOfItsHost, as by clusterctl move or from a backup: all Machines are new then, and
// none of them is the replacement for that. The marks go.
func TestARecordThatCameWithACopyOfItsHost(t *testing.T) {
	s := replacing(t)
	s.until("makes the owner larger")
	s.restart()
	s.planner.hold = "not now"
	for range 3 {
		s.w.turn()
	}
	for _, h := range s.w.hosts {
		h.UID += "-copy"
	}
	for _, m := range s.w.machines {
		m.UID += "-copy"
		m.Created = s.w.now
	}
	s.w.owner.UID += "-copy"
	delete(s.w.hosts, "host-3") // the replacement's is not yet there
	all := len(s.w.machines)
	s.settle()
	if len(s.w.gone) != 0 || len(s.w.machines) != all {
		t.Errorf("gone %v, %d Machines of %d\n%s", s.w.gone, len(s.w.machines), all, s.log.String())
	}
	s.clean()
}

// TestWhatSomebodyProtectsMeanwhile: do-not-disrupt on the host, its Machine or its node takes the work back; what is
// paused is left alone until it is not.
func TestWhatSomebodyProtectsMeanwhile(t *testing.T) {
	for name, of := range map[string]func(w *world) *Object{
		"host":    func(w *world) *Object { return &w.hosts["host-1"].Object },
		"Machine": func(w *world) *Object { return &w.machines["machine-1"].Object },
		"node":    func(w *world) *Object { return &w.nodes["node-of-machine-1"].Object },
	} {
		s := replacing(t)
		s.until("makes the owner larger")
		o := of(s.w)
		o.DoNotDisrupt = true
		s.w.bump(o)
		s.settle()
		if s.w.machines["machine-1"] == nil || len(s.w.pods) != 25 || len(s.w.machines) != 3 {
			t.Errorf("%s: gone %v, %d pods", name, s.w.gone, len(s.w.pods))
		}
		s.clean()
	}
	for name, of := range map[string]func(w *world) *Object{
		"host":    func(w *world) *Object { return &w.hosts["host-1"].Object },
		"Machine": func(w *world) *Object { return &w.machines["machine-1"].Object },
		"owner":   func(w *world) *Object { return &w.owner.Object },
	} {
		for _, what := range []string{"makes the owner larger", "evicts a pod"} {
			s := replacing(t)
			s.until(what)
			o := of(s.w)
			o.Paused = true
			s.w.bump(o)
			_ = s.pass()
			before := len(s.w.writes)
			for range 5 {
				if err := s.pass(); err != nil {
					t.Fatal(err)
				}
			}
			if n := len(s.w.writes) - before; n != 0 || !strings.Contains(s.r.Status().Waiting, "paused") {
				t.Errorf("%s, %s: %d writes, %q", name, what, n, s.r.Status().Waiting)
			}
			o.Paused = false
			s.w.bump(o)
			s.settle()
			s.replaced("machine-1")
			s.clean()
		}
	}
}

// TestARolloutThatBeginsMeanwhile: of two MachineSets Cluster API chooses which gets smaller, and the marked Machine
// may be of the other one.
func TestARolloutThatBeginsMeanwhile(t *testing.T) {
	for name, tc := range map[string]struct {
		after   string
		execute bool
	}{"releasing": {"evicts a pod", true}, "withdrawing": {"makes the owner larger", false}} {
		s := replacing(t)
		s.until(tc.after)
		for range 3 {
			s.w.turn()
		}
		m := s.w.machines["machine-0"]
		m.Set = "newer"
		s.w.bump(&m.Object)
		s.w.owner.Execute = tc.execute
		s.w.bump(&s.w.owner.Object)
		for range 10 {
			if err := s.pass(); err != nil {
				t.Fatal(err)
			}
		}
		if s.w.owner.Replicas != 4 || !strings.Contains(s.r.Status().Waiting, "rolled out") {
			t.Errorf("%s: %d replicas, waits for %q", name, s.w.owner.Replicas, s.r.Status().Waiting)
		}
		m.Set = ""
		s.w.bump(&m.Object)
		s.settle()
		if s.w.owner.Replicas != 3 {
			t.Errorf("%s: %d replicas", name, s.w.owner.Replicas)
		}
		s.clean()
	}
}

// TestAStrayMarkGoesWhenItsMachineStays: somebody made the owner larger again, so nothing is to go any more.
func TestAStrayMarkGoesWhenItsMachineStays(t *testing.T) {
	w := newWorld(3, 0)
	w.slow = true
	s := newStage(t, w, w.release(1))
	s.until("makes the owner smaller")
	h := w.hosts["host-1"]
	h.Record = ""
	w.bump(&h.Object)
	w.owner.Replicas = 3
	w.bump(&w.owner.Object)
	w.slow = false
	s.planner.hold = "not now"
	s.settle()
	if len(w.gone) != 0 {
		t.Errorf("gone %v", w.gone)
	}
	s.clean()
}

// TestSomebodysAnnotationPlannedStays: the work of these hosts was planned before, and is afterwards.
func TestSomebodysAnnotationPlannedStays(t *testing.T) {
	s := replacing(t)
	s.w.hosts["host-1"].Planned, s.w.hosts["host-3"].Planned = true, true
	s.settle()
	s.replaced("machine-1")
	for _, name := range []string{"host-1", "host-3"} {
		if h := s.w.hosts[name]; !h.Planned || h.Label+h.Record != "" {
			t.Errorf("%s: %+v", name, h)
		}
		s.w.hosts[name].Planned = false
	}
	s.clean()
}
