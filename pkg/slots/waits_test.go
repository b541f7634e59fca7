package slots_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// unchanged is a poll whose probe showed that nothing has changed.
func (s *stage) unchanged() {
	o := ironic.Observation{Mark: s.l.Begin(s.now), Unchanged: true}
	keys := s.l.Wanted(s.now)
	s.fetched = len(keys)
	for _, key := range keys {
		o.Fetched = append(o.Fetched, s.fetch(key, s.l.Begin(s.now)))
	}
	s.l.Observe(s.now, o)
}

func (s *stage) wantWaits(want bool) {
	s.t.Helper()
	if got := s.l.Waits(s.now); got != want {
		s.t.Errorf("at %v: somebody waits for the lists: %t, want %t", s.now.Sub(start), got, want)
	}
}

func TestGC19_settle(t *testing.T) {
	s := newborn(t, 1)
	s.wantWaits(true)
	s.poll()
	s.wantWaits(true) // LH-24: slots begin after a complete poll begun STARTUP_SETTLE later
	s.after(time.Minute)
	s.unchanged()
	if s.l.View(s.now).Settled {
		t.Error("a poll without lists has found no busy host")
	}
	s.poll()
	s.wantWaits(false)
}

func TestGC19_aLeaseThatIsNeverUsed(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Manageable)
	s.wantAsk(by(1, api.OpInspect), granted)
	s.wantWaits(false)
	s.after(5*time.Minute - time.Nanosecond)
	s.unchanged()
	s.wantWaits(false)
	s.after(time.Nanosecond)
	s.unchanged()
	s.wantOccupied(1) // no poll without lists ends a lease
	s.wantWaits(true)
	s.poll()
	s.wantOccupied(0)
	s.wantWaits(false)
}

func TestGC19_workThatHasEnded(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Available)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.is(1, ironic.Deploying)
	s.poll()
	s.wantWaits(false) // at work: its end will show
	s.is(1, ironic.DeployFailed)
	s.poll() // LINGER
	s.wantWaits(true)
	s.after(44 * time.Second)
	s.unchanged()
	s.wantOccupied(1)
	s.after(time.Second)
	s.unchanged()
	s.wantOccupied(1)
	s.poll()
	s.wantOccupied(0)
	s.wantWaits(false)
}

func TestGC19_aNodeThatIsGone(t *testing.T) {
	s := newStage(t, 1)
	s.wantAsk(by(1, api.OpProvision), granted)
	s.is(1, ironic.Deploying)
	s.poll()
	s.gone(1)
	s.poll() // the first 404 (LH-23)
	s.wantOccupied(1)
	s.wantWaits(true)
	s.poll()
	s.wantOccupied(0)
	s.wantWaits(false)
}

func TestGC19_anOutcomeThatNobodyKnows(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Available)
	put := s.put(1, ironic.TargetActive, true)
	s.wantWaits(false)
	s.l.Broken(s.now, put)
	s.wantWaits(true)
	s.after(time.Minute - time.Nanosecond)
	s.poll()
	s.wantOccupied(1)
	s.wantWaits(true)
	s.after(time.Nanosecond)
	s.poll()
	s.wantOccupied(0)
	s.wantWaits(false)
}

// TestGC19_whatContradictsTheLists: a fetch or Ironic's answer to a PUT shows what the
// lists cannot have shown.
func TestGC19_whatContradictsTheLists(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Deploying)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now)))
	s.wantWaits(true)
	s.poll()
	s.wantWaits(false)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now))) // the same again
	s.wantWaits(false)

	s = newStage(t, 1)
	s.is(1, ironic.Available)
	s.l.Answered(s.now, s.put(1, ironic.TargetActive, true), 202)
	s.is(1, ironic.Deploying)
	s.wantWaits(true)
	s.unchanged()
	s.wantWaits(true)
	s.poll()
	s.wantWaits(false)
}

// TestLH17_aProbeKeepsTheViewYoung: that nothing has changed is news of Ironic, also of
// those that are at work (LH-8).
func TestLH17_aProbeKeepsTheViewYoung(t *testing.T) {
	s := newStage(t, 1)
	s.after(5 * time.Minute) // nobody is adopted any more
	s.is(2, ironic.Deploying)
	s.poll()
	s.after(time.Minute)
	s.wantAsk(by(1, api.OpProvision), stale)
	s.wantAsk(by(2, api.OpProvision), stale)
	s.unchanged()
	s.wantAsk(by(2, api.OpProvision), held)
	s.after(31 * time.Second)
	s.wantAsk(by(1, api.OpProvision), stale)
}

// TestGC19_aProbeChangesNoSlot plays the same history to a ledger that reads the lists at
// each poll, and to one that does so when somebody waits or something has changed, or
// when they get old: after each poll both count the same slots and answer alike.
func TestGC19_aProbeChangesNoSlot(t *testing.T) {
	var polls, saved int
	rapid.Check(t, func(r *rapid.T) {
		a := newStage(t, 3)
		b := newStage(t, 3)
		b.nodes = a.nodes
		both := func(f func(s *stage)) {
			f(a)
			f(b)
		}
		puts := map[*stage][]*slots.Put{}
		moved, listed := true, b.now
		ops := []api.Op{api.OpInspect, api.OpPrepare, api.OpProvision, api.OpDeprovision, api.OpNone}
		states := []ironic.State{
			ironic.Manageable, ironic.Available, ironic.Active, ironic.Inspecting, ironic.InspectWait, ironic.Cleaning, ironic.CleanWait,
			ironic.Deploying, ironic.DeployWait, ironic.Deleting, ironic.DeployFailed, ironic.CleanFailed, ironic.Error,
		}
		targets := []ironic.Target{ironic.TargetActive, ironic.TargetInspect, ironic.TargetDeleted, ironic.TargetProvide}
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			n := rapid.IntRange(1, 5).Draw(r, "host")
			switch rapid.SampledFrom([]string{"ask", "ask", "state", "state", "gone", "put", "end", "time", "poll", "poll", "poll", "poll"}).Draw(r, "step") {
			case "ask":
				ask := by(n, rapid.SampledFrom(ops).Draw(r, "op"))
				if x, y := a.ask(ask), b.ask(ask); x != y {
					r.Fatalf("at %v host %d asks %s: %s with lists, %s with probes", a.now.Sub(start), n, ask.Op, x, y)
				}
			case "state":
				a.is(n, rapid.SampledFrom(states).Draw(r, "state"), rapid.Bool().Draw(r, "agent"))
				moved = true
			case "gone":
				a.gone(n)
				moved = true
			case "put":
				target := rapid.SampledFrom(targets).Draw(r, "target")
				seen := rapid.Bool().Draw(r, "seen")
				may := func(s *stage) bool {
					if seen {
						s.l.ObserveNode(s.now, s.fetch(uuid(n), s.l.Begin(s.now)))
					}
					ask := by(n, target.Op())
					ask.Put = true
					v := s.l.Check(s.now, ask)
					return v.Outcome == slots.Held || v.Outcome == slots.Open && v.Free > 0
				}
				x, y := may(a), may(b)
				if x != y {
					r.Fatalf("at %v PUT %s of host %d: %t with lists, %t with probes", a.now.Sub(start), target, n, x, y)
				}
				if x {
					both(func(s *stage) { puts[s] = append(puts[s], s.put(n, target, false)) })
				}
			case "end":
				if len(puts[a]) == 0 {
					continue
				}
				how := rapid.SampledFrom([]int{202, 400, 500, 0}).Draw(r, "how")
				both(func(s *stage) {
					put := puts[s][0]
					puts[s] = puts[s][1:]
					if how == 0 {
						s.l.Unsent(s.now, put)
					} else {
						s.l.Answered(s.now, put, how)
					}
				})
			case "time":
				d := time.Duration(rapid.IntRange(1, 120).Draw(r, "seconds")) * time.Second
				both(func(s *stage) { s.after(d) })
			case "poll":
				both(func(s *stage) { s.after(5 * time.Second) })
				a.poll()
				polls++
				if moved || b.l.Waits(b.now) || b.now.Sub(listed) >= 25*time.Second {
					b.poll()
					moved, listed = false, b.now
				} else {
					b.unchanged()
					saved++
				}
				if x, y := a.l.Slots(a.now), b.l.Slots(b.now); x != y {
					r.Fatalf("at %v: %+v with lists, %+v with probes", a.now.Sub(start), x, y)
				}
			}
		}
	})
	t.Logf("%d polls, %d without lists", polls, saved)
	if saved*20 < polls {
		t.Error("too few polls did without lists to prove anything")
	}
}

// wantLeft holds what Left says of nodes that changed last to the states that they are in.
func (s *stage) wantLeft(n int, want bool) {
	s.t.Helper()
	rows := []ironic.Change{{UUID: uuid(n), State: s.nodes[uuid(n)].State}, {UUID: uuid(99), State: ironic.Active}}
	if left := s.l.Left(s.now, rows); (len(left) == 1 && left[0] == uuid(n)) != want || len(left) > 1 {
		s.t.Errorf("in %q: has left %v, want %t", rows[0].State, left, want)
	}
}

// Between two polls only those are fetched whose slot may come back by it.
func TestLH13_WhoHasLeftItsWorkIsFetchedBetweenPolls(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Available)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now)))
	s.wantLeft(1, false) // holds no slot
	s.wantAsk(by(1, api.OpProvision), granted)
	s.wantLeft(1, false) // has not begun
	s.is(1, ironic.Deploying)
	s.wantLeft(1, false) // is at work
	s.poll()
	s.is(1, ironic.Active)
	s.wantLeft(1, true)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now)))
	s.wantOccupied(0)
	s.wantLeft(1, false)
}

// After a PUT's 2xx the state from before it is news: the work may be over already.
func TestLH13_WhoIsBackWhereItWasIsFetchedToo(t *testing.T) {
	s := newStage(t, 1)
	s.is(1, ironic.Manageable)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now)))
	put := s.put(1, ironic.TargetInspect, true)
	s.wantLeft(1, false)
	s.l.Answered(s.now, put, 202)
	s.wantLeft(1, true)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now)))
	s.wantOccupied(0)
}

// pollTakes is a complete poll that takes so long.
func (s *stage) pollTakes(d time.Duration) {
	mark := s.l.Begin(s.now)
	s.after(d)
	s.l.Observe(s.now, ironic.Observation{Mark: mark})
}

func (s *stage) wantFresh(want bool) {
	s.t.Helper()
	if got := s.l.View(s.now).Fresh; got != want {
		s.t.Errorf("at %v: the view is believed: %t, want %t", s.now.Sub(start), got, want)
	}
}

// An Ironic whose polls take 25 s is not away: what it showed is believed until the next
// poll can have come, but never for more than four times MAX_STALE (30 s).
func TestLH17_ASlowIronicIsNotAway(t *testing.T) {
	s := newStage(t, 1)
	s.pollTakes(25 * time.Second)
	s.after(30 * time.Second) // 5 s of pause, and the next poll takes as long
	s.wantFresh(true)
	s.after(25 * time.Second)
	s.wantFresh(true)
	s.after(time.Nanosecond)
	s.wantFresh(false)

	s.pollTakes(10 * time.Minute)
	s.wantFresh(false)
	s.pollTakes(0)
	s.after(2 * time.Minute)
	s.wantFresh(true)
	s.after(time.Nanosecond)
	s.wantFresh(false)

	for range 10 { // it is quick again: so it was for a while
		s.pollTakes(0)
	}
	s.after(33 * time.Second)
	s.wantFresh(false)
}
