package disrupt

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// TestAPlanThatIsDueDoesNotSpin while the API server is away: it would be asked a thousand times a second.
func TestAPlanThatIsDueDoesNotSpin(t *testing.T) {
	s := newStage(t, newWorld(3, 0), newWorld(3, 0).release(1))
	if err := s.r.pass(t.Context()); err != nil || s.r.plan == nil {
		t.Fatal(err, s.r.plan)
	}
	s.w.now, s.w.away = s.r.plan.ExecuteAfter.Add(time.Second), 1
	if err := s.r.pass(t.Context()); err == nil {
		t.Fatal("no error")
	}
	if rest := s.r.rest(); rest < every {
		t.Errorf("the next pass is in %s", rest)
	}
}

// TestTheClusterIsReadSeldomWhileNothingIsToBeDone: a state is all nodes, pods and hosts of the cluster.
func TestTheClusterIsReadSeldomWhileNothingIsToBeDone(t *testing.T) {
	for name, set := range map[string]func(s *stage){
		"not allowed": func(s *stage) { s.w.owner.Execute = false },
		"blocked":     func(s *stage) { s.planner.blocked = "paused" },
		"held":        func(s *stage) { s.planner.hold = "a host waits" },
		"waiting":     func(s *stage) { s.planner.waiting = 1 },
		"churn": func(s *stage) {
			s.planner.invalid = &disruption.Abandoned{}
			_ = s.r.pass(s.Context())
			s.w.now = s.r.plan.ExecuteAfter
		},
	} {
		w := newWorld(3, 0)
		s := newStage(t, w, w.release(1))
		set(s)
		if err := s.r.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rest := s.r.rest(); rest < time.Minute {
			t.Errorf("%s: the next pass is in %s", name, rest)
		}
	}
	s := replacing(t)
	s.until("evicts a pod")
	if rest := s.r.rest(); rest != every {
		t.Errorf("a drain: the next pass is in %s", rest)
	}
	s.r.o.Leading = func() bool { return false }
	_ = s.r.pass(t.Context())
	if rest := s.r.rest(); rest != every {
		t.Errorf("one that does not lead: the next pass is in %s", rest)
	}
}

// TestTheTaintsOfAnActionAreOneStep: each step reads all that the command is about.
func TestTheTaintsOfAnActionAreOneStep(t *testing.T) {
	w := newWorld(6, 1)
	c, err := commandOf(w.replace("host-6", 0, 1, 2, 3, 4), "abc123", w.now)
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.Look(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.complete(s, w.now); err != nil {
		t.Fatal(err)
	}
	s.Spare.Label, s.Spare.Planned = c.ID, true
	if st := next(c, s, moment{now: w.now, live: true}); len(st.writes) != 5 {
		t.Errorf("%d writes", len(st.writes))
	}
}
