package disrupt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// TestStatusTellsWhatItWaitsFor from the first write on: what is carried out, then that it is stuck with its
// remedy, and nothing when it has ended.
func TestStatusTellsWhatItWaitsFor(t *testing.T) {
	w := newWorld(3, 0)
	w.slow = true
	s := newStage(t, w, w.release(1))
	if r := s.r.Status().Running(); r != nil {
		t.Errorf("%+v before anything has begun", r)
	}
	s.until("makes the owner smaller")
	for range 2 {
		if err := s.pass(); err != nil {
			t.Fatal(err)
		}
	}
	st := s.r.Status()
	want := &api.PlanRunning{
		ID: "command1", Decision: api.PlanRelease, Reason: api.PlanEmpty, Hosts: []string{"metal3/host-1"}, Pool: "MachineDeployment metal3/workers",
		Step:     "Machine metal3/machine-1 goes, then host metal3/host-1 is cleaned",
		WaitsFor: "Cluster API deletes a Machine of MachineDeployment metal3/workers", Since: st.Command.StageAt,
	}
	if diff := cmp.Diff(want, st.Running()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if all := st.Warnings(w.now); len(all) > 0 {
		t.Errorf("warnings %q of what is not stuck", all)
	}
	w.now = st.Command.StageAt.Add(otherLimit + time.Second)
	if err := s.pass(); err != nil {
		t.Fatal(err)
	}
	st = s.r.Status()
	all := strings.Join(st.Warnings(w.now), "\n")
	for _, part := range []string{
		"planned work is stuck: the release of host metal3/host-1", "since " + st.Command.StageAt.UTC().Format(time.RFC3339), "Cluster API deletes a Machine of",
		"remove the annotation ironic-throttle.metal3.io/command of BareMetalHost metal3/host-1", "docs/planned-work.md",
	} {
		if !strings.Contains(all, part) {
			t.Errorf("%q lacks %q", all, part)
		}
	}
	if !st.Running().Stuck || all != strings.Join(st.Warnings(w.now.Add(time.Hour)), "\n") {
		t.Errorf("%+v; the warning moves with time", st.Running())
	}
	w.slow = false
	s.settle()
	if st := s.r.Status(); st.Running() != nil || len(st.Warnings(w.now)) > 0 {
		t.Errorf("%+v, %q when it has ended", st.Running(), st.Warnings(w.now))
	}
}

// TestTheRemedyOfAStuckCommandEndsIt: the annotation is removed after any pass, and no mark is left.
func TestTheRemedyOfAStuckCommandEndsIt(t *testing.T) {
	for _, x := range works {
		t.Run(x.name, func(t *testing.T) {
			removed := 0
			for passes := range 20 {
				w := x.world()
				s := newStage(t, w, x.action(w))
				for range passes {
					if err := s.pass(); err != nil {
						t.Fatal(err)
					}
				}
				c := s.r.Status().Command
				if c == nil {
					continue
				}
				removed++
				s.planner.hold = "not now"
				h := w.hosts[c.Targets[0].Host.Name]
				h.Record = ""
				w.bump(&h.Object)
				s.settle()
				s.clean()
				if r := s.r.Status().Running(); r != nil {
					t.Errorf("after %d passes: %+v", passes, r)
				}
			}
			if removed == 0 {
				t.Error("nothing was ever carried out")
			}
		})
	}
}

// TestExecutionThatFailsForLongIsWarnedOf, and no longer than that.
func TestExecutionThatFailsForLongIsWarnedOf(t *testing.T) {
	w := newWorld(1, 0)
	s := newStage(t, w, w.release(0))
	begun := w.now
	last := s.r.note(errors.Join(errors.New("first"), errors.New("second")), "", false)
	w.now = begun.Add(failsFor - time.Second)
	last = s.r.note(errors.New("machines: forbidden\nat all"), last, false)
	if all := s.r.Status().Warnings(w.now); len(all) != 0 {
		t.Errorf("%q before it has lasted", all)
	}
	w.now = begun.Add(failsFor)
	all := s.r.Status().Warnings(w.now)
	if len(all) != 1 || !strings.HasPrefix(all[0], "planned work has not gone on since 2026-03-01T12:00:00Z: machines: forbidden; at all.") {
		t.Errorf("%q", all)
	}
	s.r.note(nil, last, false)
	if all := s.r.Status().Warnings(w.now.Add(time.Hour)); len(all) != 0 {
		t.Errorf("%q though it goes on", all)
	}
}

// TestACommandThatCannotBeLookedAtIsShown, as after a change of the leader while the API server is away.
func TestACommandThatCannotBeLookedAtIsShown(t *testing.T) {
	w := newWorld(3, 0)
	w.slow = true
	s := newStage(t, w, w.release(1))
	s.until("makes the owner smaller")
	s.restart()
	s.r.o.Cluster = blind{w}
	err := s.pass()
	s.r.note(err, "", false)
	if r := s.r.Status().Running(); !errors.Is(err, errAway) || r == nil || r.ID != "command1" || !strings.Contains(r.LastError, errAway.Error()) {
		t.Errorf("%+v, %v", r, err)
	}
}

// blind lists what is marked and cannot look at it.
type blind struct{ *world }

func (blind) Look(context.Context, Command) (*Seen, error) { return nil, errAway }

// TestEachStageHasWords, which name what is worked on.
func TestEachStageHasWords(t *testing.T) {
	seen := map[string]Stage{}
	for stage := range knownWord {
		c := Command{Decision: api.PlanReprovision, Stage: stage, Targets: []Target{{}}, Abandoned: "its Machine is gone"}
		words := c.words()
		if was, twice := seen[words]; twice || !strings.HasSuffix(words, ", because its Machine is gone") || strings.HasPrefix(words, ",") {
			t.Errorf("stage %s: %q, also of %q", stage, words, was)
		}
		seen[words] = stage
	}
	if got := (&Command{Stage: "other", Targets: []Target{{}}}).words(); got != "other" {
		t.Errorf("%q", got)
	}
}
