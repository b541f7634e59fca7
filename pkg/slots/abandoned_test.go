package slots_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// lock puts node n into a state of work, with a lock or without.
func (s *stage) lock(n int, state ironic.State, locked bool, stamp string) {
	node := s.is(n, state)
	node.Unlocked, node.ProvisionUpdatedAt = !locked, stamp
}

// of shows a host of the occupants.
func (s *stage) of(n int) string {
	for _, o := range s.l.Occupancy(s.now).Occupants {
		if o.NodeUUID != uuid(n) {
			continue
		}
		var is []string
		for word, holds := range map[string]bool{"abandoned": o.Abandoned, "stuck": o.Stuck, "off": !o.Counted} {
			if holds {
				is = append(is, word)
			}
		}
		slices.Sort(is)
		return cmp.Or(strings.Join(is, " "), "well")
	}
	return "none"
}

func (s *stage) wantOf(n int, want string) {
	s.t.Helper()
	if got := s.of(n); got != want {
		s.t.Errorf("at %v host %d is %s, want %s", s.now.Sub(start), n, got, want)
	}
}

// reported lists the notices of hosts that were abandoned or written off.
func (s *stage) reported() string {
	var all []string
	for _, n := range s.l.Notices() {
		switch n.Kind {
		case slots.NoticeAbandoned, slots.NoticeStuck, slots.NoticeMoved:
			all = append(all, fmt.Sprintf("%s %s %s", n.Kind, n.ID.Name, n.State))
		}
	}
	return strings.Join(all, ", ")
}

func (s *stage) wantReported(want string) {
	s.t.Helper()
	if got := s.reported(); got != want {
		s.t.Errorf("at %v reported %q, want %q", s.now.Sub(start), got, want)
	}
}

// A conductor that was killed in the middle left nodes in inspecting for good, which held
// their slots until STUCK_AFTER and of which no notice was given.
func TestLH33_WorkThatAConductorHasLost(t *testing.T) {
	s := newStage(t, 4, func(c *slots.Config) { c.StuckAfter, c.StuckCap = 90*time.Minute, 1 })
	for n := range 4 {
		s.wantAsk(by(n, api.OpInspect), granted)
		s.lock(n, ironic.Inspecting, true, "t0")
	}
	s.polls(time.Hour)
	s.reported()
	for n := range 4 {
		s.wantOf(n, "well")
	}
	// It is killed and starts again: 0 fails, of 1 and 2 only the lock is released, 3 begins anew.
	s.is(0, ironic.InspectFailed)
	s.lock(1, ironic.Inspecting, false, "t0")
	s.lock(2, ironic.Inspecting, false, "t0")
	s.lock(3, ironic.Inspecting, true, "t1")
	s.polls(175 * time.Second)
	s.wantReported("")
	s.polls(10 * time.Second)
	s.wantReported("abandoned metal3~host-1 inspecting, abandoned metal3~host-2 inspecting, stuck metal3~host-1 inspecting")
	s.wantOf(1, "abandoned off stuck")
	s.wantOf(2, "abandoned stuck") // STUCK_CAP
	s.wantOf(3, "well")
	s.wantOccupied(2)
	s.polls(10 * time.Minute)
	s.wantReported("") // once
	// The next start lets it fail, and the next one in the row is written off.
	s.is(1, ironic.InspectFailed)
	s.polls(5 * time.Second)
	s.wantOf(2, "abandoned off stuck")
	s.wantReported("moved metal3~host-1 inspect failed, stuck metal3~host-2 inspecting")
	s.lock(2, ironic.Inspecting, true, "t0")
	s.polls(5 * time.Second)
	s.wantOf(2, "well")
	s.wantReported("moved metal3~host-2 inspecting")
}

func TestLH33_WhoIsNotAbandoned(t *testing.T) {
	s := newStage(t, 9, func(c *slots.Config) { c.StuckAfter, c.StuckCap = 90*time.Minute, 9 })
	for n := range 6 {
		s.wantAsk(by(n, api.OpProvision), granted)
	}
	s.lock(0, ironic.CleanWait, false, "t0")  // waits for its agent, without a lock
	s.lock(1, ironic.Deploying, true, "t0")   // or its Ironic does not say
	s.lock(2, ironic.Deploying, false, "t0")  // between two steps
	s.lock(3, ironic.Cleaning, false, "t0")   // its stamp moves
	s.lock(4, ironic.Inspecting, false, "t0") // its state moves
	s.lock(5, ironic.Deleting, false, "t0")   // unobserved
	s.poll()
	for i := range 60 {
		s.after(5 * time.Second)
		s.lock(2, ironic.Deploying, i%30 == 0, "t0")
		s.lock(3, ironic.Cleaning, false, fmt.Sprint("t", i/30))
		s.lock(4, []ironic.State{ironic.Inspecting, ironic.InspectWait}[i/30%2], false, "t0")
		if i < 30 {
			s.poll()
		}
	}
	s.l.Observe(s.now, ironic.Observation{Mark: s.l.Begin(s.now), Unchanged: true}) // shows no locks
	s.wantReported("")
	for n := range 6 {
		s.wantOf(n, "well")
	}
	s.lock(2, ironic.Deploying, true, "t0")
	s.poll() // the one that was not observed, after five minutes
	s.wantReported("abandoned metal3~host-5 deleting, stuck metal3~host-5 deleting")
}

// An agent that calls keeps its host from being written off, whoever works on it; and with
// STUCK_AFTER=0 nobody is.
func TestLH33_AbandonedAndNotWrittenOff(t *testing.T) {
	for _, after := range []time.Duration{0, 90 * time.Minute} {
		s := newStage(t, 2, func(c *slots.Config) { c.StuckAfter, c.StuckCap = after, 2 })
		s.wantAsk(by(0, api.OpPrepare), granted)
		s.lock(0, ironic.Cleaning, false, "t0")
		for i := range 120 {
			s.nodes[uuid(0)].AgentHeartbeat = fmt.Sprint(i)
			s.polls(5 * time.Second)
		}
		s.wantReported("abandoned metal3~host-0 cleaning")
		s.wantOf(0, "abandoned")
		s.polls(6 * time.Minute) // it is silent now
		s.wantOf(0, map[bool]string{false: "abandoned", true: "abandoned off stuck"}[after > 0])
	}
}
