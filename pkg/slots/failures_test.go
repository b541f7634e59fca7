package slots_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// observes shows the ledger node n in one state after the other.
func (s *stage) observes(n int, states ...ironic.State) {
	for _, state := range states {
		s.after(5 * time.Second)
		s.is(n, state)
		s.l.ObserveNode(s.now, s.fetch(uuid(n), s.l.Begin(s.now)))
	}
}

// ref is host n, which the ledger must know.
func (s *stage) ref(n int) slots.Ref {
	s.t.Helper()
	ref, known := s.l.Check(s.now, by(n, api.OpProvision)).Ref()
	if !known {
		s.t.Fatalf("host %d is not known", n)
	}
	return ref
}

func (s *stage) wantFailures(n, want int) {
	s.t.Helper()
	if got := s.ref(n).Failures(); got != want {
		s.t.Errorf("at %v: %d failures of host %d, want %d", s.now.Sub(start), got, n, want)
	}
}

func TestEachKindOfWorkCanFailAndIsMendedByItsSuccess(t *testing.T) {
	type work [2]ironic.State // at work, and how it ended
	var (
		inspected    = work{ironic.InspectWait, ironic.Manageable}
		cleaned      = work{ironic.CleanWait, ironic.Available}
		prepared     = work{ironic.Cleaning, ironic.Manageable}
		deployed     = work{ironic.DeployWait, ironic.Active}
		rescued      = work{ironic.RescueWait, ironic.Rescue}
		unrescued    = work{ironic.Unrescuing, ironic.Active}
		serviced     = work{ironic.ServiceWait, ironic.Active}
		unprovisions = work{ironic.Deleting, ironic.Available}
	)
	for _, c := range []struct {
		failed       work
		mends, never []work
	}{
		{work{ironic.Inspecting, ironic.InspectFailed}, []work{inspected, deployed}, []work{prepared, cleaned, unprovisions}},
		{work{ironic.Cleaning, ironic.CleanFailed}, []work{prepared, cleaned, deployed}, []work{rescued}},
		{work{ironic.Deploying, ironic.DeployFailed}, []work{deployed}, []work{inspected, prepared, cleaned, unprovisions}},
		{work{ironic.Deleting, ironic.Error}, []work{deployed}, []work{unprovisions, cleaned}},
		{work{ironic.Rescuing, ironic.RescueFailed}, []work{unrescued, deployed}, []work{unprovisions}},
		{work{ironic.Unrescuing, ironic.UnrescueFailed}, []work{unrescued, deployed}, []work{unprovisions}},
		{work{ironic.Servicing, ironic.ServiceFailed}, []work{serviced, deployed}, []work{unprovisions}},
	} {
		for _, mend := range c.mends {
			s := newStage(t, 1)
			s.observes(1, c.failed[:]...)
			s.wantFailures(1, 1)
			for _, w := range c.never {
				s.observes(1, w[:]...)
				if s.wantFailures(1, 1); t.Failed() {
					t.Fatalf("%v after %v", w, c.failed)
				}
			}
			s.observes(1, c.failed[:]...)
			s.wantFailures(1, 2)
			s.observes(1, mend[:]...)
			if s.wantFailures(1, 0); t.Failed() {
				t.Fatalf("%v after %v", mend, c.failed)
			}
		}
	}
}

// A deployment ends in active. Found in another good state the node was deprovisioned since, be
// it because the deployment failed: nobody can tell.
func TestADeploymentThatIsFoundUndoneIsNoVerdict(t *testing.T) {
	for _, undone := range []ironic.State{ironic.Available, ironic.Manageable} {
		s := newStage(t, 1)
		s.observes(1, ironic.Deploying, ironic.DeployFailed)
		s.observes(1, ironic.Deploying, undone)
		s.wantFailures(1, 1)
		ends := s.l.Endings()
		if last := ends[len(ends)-1]; last.Result != slots.Neutral || last.Work != ironic.WorkDeploy {
			t.Errorf("found %s: %s of %s, want a neutral end of the deployment", undone, last.Result, last.Work)
		}
		s.observes(1, ironic.Deploying, ironic.Active)
		s.wantFailures(1, 0)
	}
}

func TestAnAbortIsNoFailureAndNoSuccess(t *testing.T) {
	s := newStage(t, 1)
	s.observes(1, ironic.Inspecting)
	s.is(1, ironic.InspectFailed).LastError = "Inspection was aborted by request."
	s.observes(1, ironic.InspectFailed)
	s.wantFailures(1, 0)
	s.is(1, ironic.InspectFailed).LastError = "timeout" // of something else since
	s.observes(1, ironic.InspectFailed)
	s.wantFailures(1, 0)
	s.observes(1, ironic.Inspecting, ironic.InspectFailed)
	s.wantFailures(1, 1)
	s.is(1, ironic.InspectFailed).LastError = "Inspection was aborted by request."
	s.observes(1, ironic.Inspecting, ironic.InspectFailed)
	s.wantFailures(1, 1)
}

// An end that is observed again, or whose work was never observed, is none of the work's.
func TestAFailureCountsOnce(t *testing.T) {
	s := newStage(t, 1)
	s.observes(1, ironic.DeployFailed)
	s.wantFailures(1, 0)
	s.observes(1, ironic.Deploying, ironic.DeployFailed, ironic.DeployFailed, ironic.Available, ironic.DeployFailed)
	s.wantFailures(1, 1)
	s.observes(1, ironic.Active) // somebody adopted it: no work of ours
	s.wantFailures(1, 1)
}

func TestGW3_AcceptedWorkThatWasNeverObservedCanFail(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Available)
	s.l.Answered(s.now, s.put(1, ironic.TargetActive, true), 202)
	s.observes(1, ironic.DeployFailed)
	s.wantFailures(1, 1)
}

// A poll that began before the PUT shows the old failure again.
func TestGW3_AnOldFailureIsNotJudgedAgain(t *testing.T) {
	s := newStage(t, 4)
	s.observes(1, ironic.Deploying, ironic.DeployFailed)
	s.wantFailures(1, 1)
	s.polls(time.Minute)
	before := s.l.Begin(s.now)
	put := s.put(1, ironic.TargetActive, false)
	s.l.Answered(s.now, put, 202)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), before))
	s.wantFailures(1, 1)
	s.observes(1, ironic.Deploying)
	s.wantFailures(1, 1)
	s.observes(1, ironic.DeployFailed)
	s.wantFailures(1, 2)
}

// unused lets host n get a slot and not use it.
func (s *stage) unused(n int) {
	s.t.Helper()
	s.observes(n, ironic.Manageable)
	s.wantAsk(by(n, api.OpProvision), granted)
	s.after(6 * time.Minute)
	s.poll()
	s.wantOccupied(0)
}

func TestLH12_ThreeUnusedLeasesAreOneFailure(t *testing.T) {
	s := newStage(t, 1)
	for i := range 7 {
		s.unused(1)
		s.wantFailures(1, (i+1)/3)
	}
	s.observes(1, ironic.Deploying, ironic.Active) // what it is there for
	s.wantFailures(1, 0)
	s.polls(time.Minute)
	s.unused(1)
	s.unused(1)
	s.wantFailures(1, 0) // the one before is forgotten
	s.unused(1)
	s.wantFailures(1, 1)
}

func TestGW5_ARefusedPutIsNoUnusedLease(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Manageable)
	for range 4 {
		s.l.Answered(s.now, s.put(1, ironic.TargetInspect, true), 409)
	}
	s.wantOccupied(0)
	s.wantFailures(1, 0)
}

func TestLH16_FailuresGoWithTheNode(t *testing.T) {
	s := newStage(t, 1)
	s.observes(1, ironic.Deploying, ironic.DeployFailed)
	s.polls(time.Minute) // its slot ends
	s.gone(1)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now)))
	s.wantFailures(1, 0)
}

func TestLH25_FailuresSurviveTheMerge(t *testing.T) {
	s := newStage(t, 1)
	named := by(1, api.OpProvision)
	named.ID.UUID = ""
	for range 3 {
		s.wantAsk(named, granted)
		s.after(6 * time.Minute)
		s.poll() // answers 404
	}
	s.is(1, ironic.Manageable).Name = ""
	s.observes(1, ironic.Manageable)
	full := by(1, api.OpProvision)
	s.wantAsk(full, granted) // name and UUID are one host
	s.wantFailures(1, 1)
}
