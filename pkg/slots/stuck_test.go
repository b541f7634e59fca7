package slots_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// LH-33: a host that was written off counts again as soon as it moves, and the next
// oldest takes its place, though one fetch alone shows it and its work has ended.
func TestLH33_AStuckHostThatCameToRestCountsAtOnce(t *testing.T) {
	s := newStage(t, 2, func(c *slots.Config) { c.StuckAfter, c.StuckCap = 90*time.Minute, 1 })
	s.is(1, ironic.DeployWait, true)
	s.is(2, ironic.CleanWait, true)
	s.poll()
	s.after(2 * time.Hour)
	s.poll()
	off := func() (uuids []string) {
		for _, o := range s.l.Occupancy(s.now).Occupants {
			if !o.Counted {
				uuids = append(uuids, o.NodeUUID)
			}
		}
		return uuids
	}
	if got := off(); len(got) != 1 || got[0] != uuid(1) {
		t.Fatalf("%q are written off, want host 1", got)
	}
	s.is(1, ironic.DeployFailed)
	s.l.ObserveNode(s.now, s.fetch(uuid(1), s.l.Begin(s.now)))
	if got := off(); len(got) != 1 || got[0] != uuid(2) {
		t.Errorf("%q are written off, want host 2", got)
	}
}

// LH-33: work that failed and began again between two polls is not as old as the work before.
func TestLH33_WorkThatBeganAgainIsNotStuck(t *testing.T) {
	for _, state := range []ironic.State{ironic.Deploying, ironic.DeployWait} {
		s := newStage(t, 2, func(c *slots.Config) { c.StuckAfter, c.StuckCap = 90*time.Minute, 1 })
		s.is(1, state).ProvisionUpdatedAt = "first"
		s.polls(80 * time.Minute)
		s.is(1, state).ProvisionUpdatedAt = "second"
		s.polls(80 * time.Minute)
		s.wantOccupied(1)
		s.polls(20 * time.Minute)
		s.wantOccupied(0)
	}
}

// LH-33: a heartbeat moves the stamp, and begins no work.
func TestLH33_AHeartbeatIsNoBegin(t *testing.T) {
	s := newStage(t, 2, func(c *slots.Config) { c.StuckAfter, c.StuckCap = 90*time.Minute, 1 })
	n := s.is(1, ironic.CleanWait)
	s.polls(80 * time.Minute)
	n.ProvisionUpdatedAt, n.AgentHeartbeat = "80 minutes later", "the first"
	s.polls(5 * time.Minute)
	s.wantOccupied(1)
	s.polls(10 * time.Minute)
	s.wantOccupied(0)
}
