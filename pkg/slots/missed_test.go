package slots_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// newWhole returns a settled ledger that was shown who had failed: the clock stands at two
// minutes. Node 50 had.
func newWhole(t *testing.T, limit int, edit ...func(*slots.Config)) *stage {
	t.Helper()
	s := newborn(t, limit, edit...)
	s.failed(50, "of old")
	s.wholePoll()
	s.after(time.Minute)
	s.wholePoll()
	s.after(time.Minute)
	s.poll()
	s.wantFailures(50, 0)
	s.l.Endings()
	return s
}

// wholePoll is one that shows failed, service and hold states too.
func (s *stage) wholePoll() {
	s.t.Helper()
	if !s.l.Whole(s.now) {
		s.t.Errorf("at %v: no whole poll is wanted", s.now.Sub(start))
	}
	o := ironic.Observation{Mark: s.l.Begin(s.now), Whole: true}
	for i := range 100 {
		if n := s.nodes[uuid(i)]; n != nil && (n.State.Busy() || n.State.Extra() || n.State.Failed()) {
			o.Nodes = append(o.Nodes, *n)
		}
	}
	for _, key := range append(s.l.Missing(s.now, o.Nodes), s.l.Wanted(s.now)...) {
		o.Fetched = append(o.Fetched, s.fetch(key, s.l.Begin(s.now)))
	}
	s.l.Observe(s.now, o)
}

// failed leaves node n with a failed deployment.
func (s *stage) failed(n int, stamp string) {
	node := s.is(n, ironic.DeployFailed)
	node.ProvisionUpdatedAt, node.LastError = stamp, "no power"
}

// wantEndings compares the endings since the last call.
func (s *stage) wantEndings(want ...slots.Result) {
	s.t.Helper()
	var got []slots.Result
	for _, e := range s.l.Endings() {
		got = append(got, e.Result)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("at %v: endings %v, want %v", s.now.Sub(start), got, want)
	}
}

// end is how the slot of host n ended, if it did.
func (s *stage) end(n int) slots.End {
	for _, c := range s.l.Changes() {
		if c.Host.ID().UUID == uuid(n) && !c.Holds {
			return c.End
		}
	}
	return slots.EndUncounted
}

// Twelve hosts of a dead rack are granted at their first ask, and each fails before
// it was observed at work.
func TestWorkThatFailsBetweenTwoPollsIsCounted(t *testing.T) {
	for _, c := range []struct {
		name string
		op   api.Op
		end  ironic.State
	}{
		{"deployment", api.OpProvision, ironic.DeployFailed},
		{"inspection", api.OpInspect, ironic.InspectFailed},
		{"deprovision", api.OpDeprovision, ironic.Error},
		{"rescue", api.OpRescue, ironic.RescueFailed},
		{"service", api.OpService, ironic.ServiceFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newWhole(t, 12)
			for i := range 12 {
				s.wantAsk(by(i, c.op), granted)
				n := s.is(i, c.end)
				if i%2 == 0 { // so old an Ironic, or so new a node
					n.ProvisionUpdatedAt = fmt.Sprint("stamp", i)
				}
			}
			s.after(5 * time.Second)
			s.poll()
			for i := range 12 {
				s.wantFailures(i, 1)
			}
			s.wantOccupied(12) // LINGER
			s.polls(40 * time.Second)
			s.wantOccupied(12)
			s.polls(5 * time.Second)
			s.wantOccupied(0)
			if got := s.l.Totals(); got.Expired != 0 || got.Finished != 12 {
				t.Errorf("%+v: want no lease that was never used", got)
			}
			s.wantEndings(slots.Failed, slots.Failed, slots.Failed, slots.Failed, slots.Failed, slots.Failed,
				slots.Failed, slots.Failed, slots.Failed, slots.Failed, slots.Failed, slots.Failed)
			s.polls(20 * time.Minute)
			s.wantEndings()
		})
	}
}

// A poll whose probe stands still fetches leases too, and what it finds is followed by
// lists until the slot is back.
func TestGC19_AnUnchangedProbeHidesNoFailure(t *testing.T) {
	s := newWhole(t, 1)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.failed(1, "new")
	s.after(5 * time.Second)
	s.wantWaits(false)
	s.unchanged()
	s.wantEndings(slots.Failed)
	s.wantWaits(true)
	s.polls(45 * time.Second)
	s.wantOccupied(0)
}

// What failed before the yes is no work of it.
func TestLH12_AnOldFailureIsNoUseOfALease(t *testing.T) {
	for name, before := range map[string]func(s *stage){
		"listed at the start": func(s *stage) {},
		"observed later":      func(s *stage) { s.failed(50, "anew"); s.observes(50, ironic.DeployFailed) },
		"with no stamp":       func(s *stage) { s.failed(50, ""); s.observes(50, ironic.DeployFailed) },
		"not forgotten": func(s *stage) {
			for range 3 {
				s.polls(time.Hour)
				s.wholePoll()
			}
			s.polls(time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWhole(t, 1)
			before(s)
			s.polls(5 * time.Second)
			s.l.Endings()
			s.wantAsk(by(50, api.OpProvision), granted)
			s.polls(5*time.Minute - 5*time.Second)
			s.wantOccupied(1)
			s.wantEndings()
			s.l.Changes()
			s.polls(5 * time.Second)
			s.wantOccupied(0)
			if got := s.end(50); got != slots.EndUnused {
				t.Errorf("end %v, want a lease that was never used", got)
			}
		})
	}
}

// Whoever had failed and was brought back is forgotten in time, and may fail anew.
func TestWhoIsNoLongerFailedIsForgotten(t *testing.T) {
	s := newWhole(t, 1)
	s.is(50, ironic.Available)
	s.polls(time.Hour)
	s.wholePoll()
	s.polls(time.Hour)
	if got := s.l.Name(uuid(50)); got != "" {
		t.Errorf("%s is remembered", got)
	}
	s.failed(50, "anew")
	s.observes(50, ironic.DeployFailed)
	s.wantFailures(50, 1)
}

// F-1: an idle node whose stamp has moved proves nothing: heartbeats may have moved it.
func TestLH12_AStampThatMovesIsNoUseOfALease(t *testing.T) {
	s := newWhole(t, 1)
	for i, state := range []ironic.State{ironic.Manageable, ironic.Available, ironic.Active} {
		s.is(1, state).ProvisionUpdatedAt = "before"
		s.observes(1, state)
		s.wantAsk(by(1, api.OpPrepare), granted)
		s.is(1, state).ProvisionUpdatedAt = "after"
		s.polls(5*time.Minute - 5*time.Second)
		s.wantOccupied(1)
		s.polls(5 * time.Second)
		s.wantOccupied(0)
		if got := s.l.Totals().Expired; got != uint64(i)+1 {
			t.Errorf("%d leases were not used, want %d", got, i+1)
		}
	}
}

// LH-15: an observation that began before the yes shows what was before it.
func TestLH15_AFailureObservedFromBeforeTheYesIsNoUse(t *testing.T) {
	s := newWhole(t, 1)
	mark := s.l.Begin(s.now)
	s.failed(1, "before")
	observed := s.fetch(uuid(1), mark)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.l.ObserveNode(s.now, observed)
	s.wantFailures(1, 1)
	s.polls(5*time.Minute - 5*time.Second)
	s.wantOccupied(1)
	s.wantFailures(1, 1)
	s.polls(5 * time.Second)
	s.wantOccupied(0)
}

// Somebody stopped the work on purpose: no failure, but the lease was used.
func TestAnAbortedPieceOfWorkUsesALease(t *testing.T) {
	s := newWhole(t, 1)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.is(1, ironic.InspectFailed).LastError = "Inspection was aborted by request."
	s.polls(5 * time.Second)
	s.wantEndings(slots.Neutral)
	s.wantFailures(1, 0)
	s.polls(45 * time.Second)
	s.wantOccupied(0)
	if got := s.l.Totals().Expired; got != 0 {
		t.Errorf("%d leases were not used", got)
	}
}

// A lease that was not used costs a few fetches, whatever polls and asks there are, and
// one that was none but those of LH-36.
func TestLH36_WhatAnUnusedLeaseCosts(t *testing.T) {
	for _, c := range []struct {
		name  string
		every time.Duration // asks
		poll  func(s *stage) int
		most  int
	}{
		{"lists at each poll", time.Hour, func(s *stage) int { return len(s.poll()) }, 7},
		{"the probe stands still", time.Hour, func(s *stage) int { s.unchanged(); return s.fetched }, 6},
		{"asks every 5 s", 5 * time.Second, func(s *stage) int { return len(s.poll()) }, 8},
	} {
		s := newWhole(t, 20)
		var fetches int
		for i := range 20 {
			s.is(i, ironic.Manageable)
			s.wantAsk(by(i, api.OpInspect), granted)
		}
		for end := s.now.Add(5 * time.Minute); s.now.Before(end); {
			s.after(5 * time.Second)
			for i := range 20 {
				if s.now.Sub(start)%c.every == 0 {
					s.ask(by(i, api.OpInspect))
				}
			}
			fetches += c.poll(s)
		}
		if fetches != 20*c.most {
			t.Errorf("%s: 20 leases cost %d fetches in LEASE_TTL, want %d", c.name, fetches, 20*c.most)
		}
	}
	s := newWhole(t, 1)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.is(1, ironic.Deploying)
	for range 60 {
		s.after(5 * time.Second)
		if keys := s.poll(); len(keys) > 0 {
			t.Fatalf("fetched %v, though the lists show it", keys)
		}
	}
}

// Leases that may have been used unseen come before hosts that wait.
func TestLH16_LeasesAreFetchedFirst(t *testing.T) {
	s := newWhole(t, 12)
	for i := range 12 {
		s.wantAsk(by(i, api.OpInspect), granted)
	}
	for i := range 40 {
		s.wantAsk(by(20+i, api.OpProvision), full)
	}
	keys := s.l.Wanted(s.now)
	for i := range 12 {
		if keys[i] != uuid(i) {
			t.Fatalf("fetched %v", keys)
		}
	}
	if len(keys) != 20 {
		t.Errorf("%d fetches, want 20", len(keys))
	}
}

// GW-6: what nobody knows of a PUT is not known better because its work has failed.
func TestGW6_AFailureUnseenSettlesNoDoubt(t *testing.T) {
	s := newWhole(t, 1)
	s.is(1, ironic.Available)
	s.l.Broken(s.now, s.put(1, ironic.TargetActive, true))
	s.failed(1, "new")
	s.polls(55 * time.Second)
	s.wantFailures(1, 1)
	s.wantOccupied(1)
	s.polls(5 * time.Second)
	s.wantOccupied(0)
	if got := s.l.Totals().Expired; got != 0 {
		t.Errorf("%d leases were not used", got)
	}
}

// LH-24: a host in a service or hold state may be on a yes of the process before. It is
// adopted, and keeps its slot until it is observed idle.
func TestLH24_HostsInServiceOrHoldAreAdopted(t *testing.T) {
	held := []ironic.State{ironic.DeployHold, ironic.CleanHold, ironic.ServiceHold, ironic.Servicing, ironic.ServiceWait}
	s := newborn(t, len(held)+1)
	for i, state := range held {
		s.is(i, state)
	}
	s.wholePoll()
	s.wantOccupied(len(held))
	s.after(time.Minute)
	s.is(10, ironic.Servicing) // on a yes from before the restart
	s.wholePoll()
	s.wantOccupied(len(held) + 1)
	s.wantAsk(by(20, api.OpInspect), full)
	s.polls(10 * time.Minute)
	s.wantOccupied(len(held) + 1)
	s.is(0, ironic.DeployWait) // unhold
	s.polls(10 * time.Minute)
	s.wantOccupied(len(held) + 1)
	s.is(0, ironic.Active)
	s.polls(time.Minute)
	s.wantOccupied(len(held))
	// Later a stranger's service counts where that is wanted only.
	s.is(11, ironic.Servicing)
	s.observes(11, ironic.Servicing)
	s.wantOccupied(len(held))
}

// A host that gives its lease back says nothing of how its work went.
func TestLH16_ALeaseGivenBackIsFetchedOnceMore(t *testing.T) {
	s := newWhole(t, 1)
	s.is(1, ironic.Active)
	s.wantAsk(by(1, api.OpRescue), granted)
	s.polls(65 * time.Second)
	s.is(1, ironic.RescueFailed)
	s.wantAsk(by(1, api.OpNone), done)
	s.wantOccupied(0)
	s.polls(5 * time.Second)
	s.wantFailures(1, 1)
}

// One outcome for one stamp: Ironic's 2xx to the PUT comes back after its work was observed to
// have failed.
func TestGW3_AFailureObservedBeforeThe2xxIsNotCountedTwice(t *testing.T) {
	s := newWhole(t, 1)
	s.is(1, ironic.Available).ProvisionUpdatedAt = "before"
	put := s.put(1, ironic.TargetActive, true)
	s.failed(1, "new")
	s.observes(1, ironic.DeployFailed) // another client's request has fetched it
	s.wantFailures(1, 1)
	s.l.Answered(s.now, put, 202)
	s.polls(5 * time.Second)
	s.wantFailures(1, 1)
	s.wantOccupied(0) // gateway only: at once (LH-14)
}

// LH-23: the node that bore the name is gone, and the lease was to the name: the new node
// is fetched at once.
func TestLH23_ANewNodeOfTheNameIsFetchedAtOnce(t *testing.T) {
	s := newWhole(t, 1)
	s.is(1, ironic.Manageable)
	s.wantAsk(byName(1), granted)
	s.polls(5 * time.Second)
	s.is(1, ironic.Inspecting)
	s.polls(10 * time.Second)
	s.is(1, ironic.InspectFailed)
	s.polls(time.Minute)
	s.wantOccupied(0)
	s.gone(1)
	s.wantAsk(byName(1), granted)
	s.is(2, ironic.InspectFailed).Name = by(1, "").ID.Name
	s.polls(15 * time.Second) // 404, 404, and then by name
	s.wantFailures(2, 1)
}

// Stamps of whole seconds, as MariaDB keeps them: a deployment fails, and within the same
// second its tear-down.
func TestTwoFailuresWithinASecondAreTwo(t *testing.T) {
	s := newWhole(t, 1)
	s.is(1, ironic.Available).ProvisionUpdatedAt = "12:00:00"
	s.observes(1, ironic.Available)
	s.failed(1, "12:00:00")
	s.observes(1, ironic.DeployFailed)
	s.wantFailures(1, 1)
	s.l.Answered(s.now, s.put(1, ironic.TargetDeleted, false), 202)
	s.observes(1, ironic.Error)
	s.wantFailures(1, 2)
}
