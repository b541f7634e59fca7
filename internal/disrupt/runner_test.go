package disrupt

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// script is a Planner that wants one action until its Machine is gone.
type script struct {
	w       *world
	action  api.PlanAction
	hold    string
	waiting int
	invalid error
	late    error // that Confirm gives
	blocked string
	dryRun  bool
	plans   int
	valid   int
	states  int // read
	seen    int // of these, when Validate was asked last
}

func (s *script) State(context.Context) (*disruption.State, error) {
	s.states++
	st := &disruption.State{Throttle: disruption.Throttle{Waiting: s.waiting}}
	if o := s.w.owner; o != nil {
		st.Pools = []disruption.Pool{{Key: pool.Key, Kind: pool.Kind, Replicas: o.Replicas, Scales: true, Execute: o.Execute && o.Stopped == ""}}
	}
	return st, nil
}

func (s *script) Plan(_ context.Context, _ *disruption.State, now time.Time) (api.Plan, error) {
	s.plans++
	p := api.Plan{DryRun: s.dryRun, Blocked: s.blocked, MadeAt: now, ExecuteAfter: now.Add(disruption.ValidateAfter)}
	if key, err := parseKey(s.action.Hosts[0].Machine); err != nil || s.w.machines[key.Name] != nil {
		p.Actions = []api.PlanAction{s.action}
	}
	return p, nil
}

func (s *script) Validate(context.Context, api.Plan, *disruption.State, time.Time) error {
	s.valid++
	s.seen = s.states
	return s.invalid
}

func (s *script) Confirm(context.Context, api.Plan, *disruption.State, time.Time) error {
	if s.states <= s.seen {
		return errors.New("the last look is at the state that was validated")
	}
	return s.late
}

func (s *script) Hold() string { return s.hold }

// release is the action that releases the i-th host.
func (w *world) release(i int) api.PlanAction {
	n := strconv.Itoa(i)
	return api.PlanAction{
		ID: "action-" + n, Decision: api.PlanRelease, Reason: api.PlanEmpty, Pool: "MachineDeployment " + poolName,
		Hosts:    []api.PlanHost{{Name: "metal3/host-" + n, Machine: "metal3/machine-" + n, Node: "node-of-machine-" + n, PowerOff: true}},
		Evidence: []string{"no pods"}, SavingPerHour: 0.1,
	}
}

// stage is a Runner in a world, which may be killed and started anew.
type stage struct {
	*testing.T
	w       *world
	planner *script
	r       *Runner
	ids     int
	log     strings.Builder
}

func newStage(t *testing.T, w *world, a api.PlanAction) *stage {
	t.Helper()
	s := &stage{T: t, w: w, planner: &script{w: w, action: a}}
	s.restart()
	return s
}

func (s *stage) restart() {
	s.r = New(Options{
		Planner: s.planner, Cluster: s.w, Now: func() time.Time { return s.w.now },
		NewID: func() string { s.ids++; return "command" + strconv.Itoa(s.ids) },
		Log:   slog.New(slog.NewTextHandler(&s.log, nil)),
	})
}

// pass is one pass, after which the controllers work.
func (s *stage) pass() error {
	err := s.r.pass(s.Context())
	s.w.turn()
	return err
}

// settle goes on until nothing is left to do.
func (s *stage) settle() {
	s.Helper()
	for range 60 {
		if err := s.pass(); err != nil && !strings.Contains(err.Error(), errAway.Error()) {
			s.Fatal(err)
		}
	}
}

// clean checks that no mark is left.
func (s *stage) clean() {
	s.Helper()
	for _, h := range s.w.hosts {
		if h.Label+h.Record != "" || h.Planned {
			s.Errorf("host %s has marks: %q %q %v", h.Name, h.Label, h.Record, h.Planned)
		}
	}
	for _, m := range s.w.machines {
		if m.Label != "" || m.Marked {
			s.Errorf("Machine %s has marks: %q %q", m.Name, m.Label, m.Mark)
		}
	}
	for _, n := range s.w.nodes {
		if n.Label != "" || n.Tainted {
			s.Errorf("node %s has marks: %q %v", n.Name, n.Label, n.Tainted)
		}
	}
	if s.w.owner != nil && s.w.owner.Label != "" {
		s.Errorf("the owner has the mark %q", s.w.owner.Label)
	}
}

// oneLess checks that just that Machine went.
func (s *stage) oneLess(replicas int, gone ...string) {
	s.Helper()
	if s.w.owner.Replicas != replicas || len(s.w.machines) != replicas || !slices.Equal(s.w.gone, gone) {
		s.Errorf("%d replicas, %d Machines, gone %v; want %d and %v\n%s", s.w.owner.Replicas, len(s.w.machines), s.w.gone, replicas, gone, s.log.String())
	}
}

// TestDC31_ReleaseOfAnEmptyHost: the owner gets smaller by one, the marked Machine goes, its host is powered off.
func TestDC31_ReleaseOfAnEmptyHost(t *testing.T) {
	s := newStage(t, newWorld(3, 0), newWorld(3, 0).release(1))
	s.settle()
	s.oneLess(2, "machine-1")
	s.clean()
	if s.w.hosts["host-1"].Online {
		t.Error("the host is still powered on")
	}
	var what []string
	for _, x := range s.w.writes {
		what = append(what, string(x.Object.Kind)+" "+x.What)
	}
	want := []string{
		"BareMetalHost begins planned work", "Machine marks the Machine", "MachineDeployment makes the owner smaller",
		"BareMetalHost writes down how far it is", "BareMetalHost powers the host off", "BareMetalHost writes down how far it is",
		"MachineDeployment removes its mark", "BareMetalHost removes its marks",
	}
	if !slices.Equal(what, want) {
		t.Errorf("writes %q", what)
	}
	if n := strings.Join(s.w.notices, "\n"); !strings.Contains(n, "MachineDeployment PlannedWorkStarted") || !strings.Contains(n, "BareMetalHost PlannedWorkFinished") {
		t.Error(n)
	}
	for _, word := range []string{"from=3 to=2", "action=action-1", `evidence="no pods"`, "savingPerHour=0.1"} {
		if !strings.Contains(s.log.String(), word) {
			t.Errorf("the log lacks %s:\n%s", word, s.log.String())
		}
	}
}

// TestDC30_NothingWithoutThePoolsAnnotation and without the lead.
func TestDC30_NothingWithoutThePoolsAnnotation(t *testing.T) {
	w := newWorld(3, 0)
	w.owner.Execute = false
	s := newStage(t, w, w.release(1))
	s.settle()
	if len(w.writes) != 0 || s.planner.plans == 0 {
		t.Errorf("%d writes, %d plans", len(w.writes), s.planner.plans)
	}
	w.owner.Execute = true
	s.r.o.Leading = func() bool { return false }
	s.settle()
	if len(w.writes) != 0 {
		t.Errorf("%d writes by one that does not lead", len(w.writes))
	}
}

// TestDC1_DC26_ADryRunAndABlockedPlanAreNotCarriedOut.
func TestDC1_DC26_ADryRunAndABlockedPlanAreNotCarriedOut(t *testing.T) {
	for name, set := range map[string]func(p *script){
		"dry run": func(p *script) { p.dryRun = true },
		"blocked": func(p *script) { p.blocked = "a breaker is open" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3, 0)
			s := newStage(t, w, w.release(1))
			set(s.planner)
			s.settle()
			if len(w.writes) != 0 || s.planner.plans == 0 || s.planner.valid != 0 {
				t.Errorf("%d writes, %d plans, %d validations", len(w.writes), s.planner.plans, s.planner.valid)
			}
		})
	}
}

// TestAHostStaysPoweredOn where the plan does not say otherwise.
func TestAHostStaysPoweredOn(t *testing.T) {
	w := newWorld(3, 0)
	a := w.release(1)
	a.Hosts[0].PowerOff = false
	s := newStage(t, w, a)
	s.settle()
	s.oneLess(2, "machine-1")
	s.clean()
	if !w.hosts["host-1"].Online {
		t.Error("it is powered off")
	}
}

// TestOnlyTheFirstHostOfARelease goes: by the time it has, the plan is old.
func TestOnlyTheFirstHostOfARelease(t *testing.T) {
	w := newWorld(3, 0)
	a := w.release(1)
	a.Hosts = append(a.Hosts, w.release(2).Hosts...)
	s := newStage(t, w, a)
	s.settle()
	s.oneLess(2, "machine-1")
	if s.planner.plans < 2 {
		t.Errorf("%d plans", s.planner.plans)
	}
}

// TestOneThatLeadsNoMoreWritesNothing: the lead is lost between two writes.
func TestOneThatLeadsNoMoreWritesNothing(t *testing.T) {
	w := newWorld(3, 0)
	s := newStage(t, w, w.release(1))
	s.r.o.Leading = func() bool { return len(w.writes) < 2 }
	for range 10 {
		_ = s.pass()
	}
	if len(w.writes) != 2 || w.owner.Replicas != 3 {
		t.Errorf("%d writes, %d replicas", len(w.writes), w.owner.Replicas)
	}
	s.restart()
	s.settle()
	s.oneLess(2, "machine-1")
	s.clean()
}

// TestDC22_APlanIsValidatedBeforeItBegins: not before 15 s, and not when it does not hold any more.
func TestDC22_APlanIsValidatedBeforeItBegins(t *testing.T) {
	w := newWorld(3, 0)
	s := newStage(t, w, w.release(1))
	for _, after := range []time.Duration{0, 10 * time.Second, disruption.ValidateAfter - 1} {
		now := w.now
		w.now = w.now.Add(after)
		if err := s.r.pass(t.Context()); err != nil || len(w.writes) > 0 || s.planner.valid > 0 {
			t.Fatalf("after %s: %v, %d writes", after, err, len(w.writes))
		}
		w.now = now
	}
	if rest := s.r.rest(); rest != every {
		t.Errorf("rest %s", rest)
	}
	w.now = w.now.Add(disruption.ValidateAfter)
	s.planner.invalid = &disruption.Abandoned{Class: "churn", Why: "pods came"}
	if err := s.r.pass(t.Context()); err != nil || len(w.writes) > 0 || s.planner.valid != 1 {
		t.Fatalf("%v, %d writes, %d validations", err, len(w.writes), s.planner.valid)
	}
	if !strings.Contains(s.log.String(), "class=churn") {
		t.Error(s.log.String())
	}
	s.planner.invalid = nil
	s.planner.late = &disruption.Abandoned{Class: "churn", Why: "pods came at last"}
	for range 4 {
		if err := s.pass(); err != nil {
			t.Fatal(err)
		}
		s.w.now = s.w.now.Add(disruption.ValidateAfter)
	}
	if len(s.w.writes) > 0 || !strings.Contains(s.log.String(), "pods came at last") {
		t.Errorf("%d writes of a plan that did not hold at the last look\n%s", len(s.w.writes), s.log.String())
	}
	s.planner.late = nil
	s.settle()
	s.oneLess(2, "machine-1")
}

// TestDC24_NothingStartsWhileRealHostsWait: before the plan, while it waits to be validated, and
// between its marks and the owner.
func TestDC24_NothingStartsWhileRealHostsWait(t *testing.T) {
	for name, from := range map[string]func(s *stage){
		"before": func(s *stage) { s.planner.hold = "3 hosts wait" },
		"state":  func(s *stage) { s.planner.waiting = 3 },
		"between": func(s *stage) {
			_ = s.pass()
			s.planner.hold = "3 hosts wait"
		},
		"marked": func(s *stage) {
			s.w.hook = func(x Write, apply func() error) error {
				if x.Object.Kind == KindMachine {
					s.planner.hold = "3 hosts wait"
				}
				return apply()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3, 0)
			s := newStage(t, w, w.release(1))
			from(s)
			for range 10 {
				if err := s.pass(); err != nil {
					t.Fatal(err)
				}
			}
			s.oneLess(3)
			s.clean()
			s.w.hook, s.planner.hold, s.planner.waiting = nil, "", 0
			s.settle()
			s.oneLess(2, "machine-1")
			s.clean()
		})
	}
}
