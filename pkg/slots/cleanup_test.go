package slots_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// Ironic moves a node whose wait timed out into a failed state, cleans up under its lock, and writes last_error then.
func TestLH45_WorkHasEndedWhenTheConductorSaysWhy(t *testing.T) {
	const failed, aborted = "Timeout reached while cleaning the node.", "By request, the clean operation was aborted"
	for name, c := range map[string]struct {
		cleansUp time.Duration // before the conductor lets go; 0: it never locked the node
		text     string
		want     slots.Result
	}{
		"failed":                         {time.Minute, failed, slots.Failed},
		"ended on purpose":               {time.Minute, aborted, slots.Neutral},
		"the conductor never says":       {time.Hour, "", slots.Failed},
		"it let go without a word":       {0, "", slots.Failed},
		"at the last moment":             {175 * time.Second, aborted, slots.Neutral},
		"a minute after it was given up": {4 * time.Minute, aborted, slots.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 1)
			s.is(1, ironic.Manageable)
			s.wantAsk(by(1, api.OpProvision), granted)
			s.observes(1, ironic.Cleaning, ironic.CleanWait)
			s.l.Endings()
			s.is(1, ironic.CleanFailed).Locked = c.cleansUp > 0
			first := s.now.Add(5 * time.Second)
			var got []slots.Ending
			for s.now.Sub(first) < c.cleansUp+5*time.Second && len(got) == 0 {
				n := s.nodes[uuid(1)]
				if n.Locked && s.now.Sub(first)+5*time.Second >= c.cleansUp {
					n.Locked, n.LastError = false, c.text
				}
				s.observes(1, ironic.CleanFailed)
				got = s.l.Endings()
				if s.end(1) != slots.EndUncounted {
					t.Errorf("at %v its slot ended before its work", s.now.Sub(first))
				}
			}
			wantAfter := min(c.cleansUp, 3*time.Minute)
			if len(got) != 1 || got[0].Result != c.want || s.now.Sub(first) != wantAfter {
				t.Fatalf("after %v: %+v, want one that is %v after %v", s.now.Sub(first), got, c.want, wantAfter)
			}
			if told := c.cleansUp <= wantAfter; told && got[0].Cause != c.text {
				t.Errorf("cause %q, want %q", got[0].Cause, c.text)
			}
			s.after(time.Minute)
			s.observes(1, ironic.CleanFailed)
			if n := s.l.Occupied(s.now, slots.Pool{}); n != 0 {
				t.Errorf("%d slots occupied, want 0", n)
			}
		})
	}
}

// Polls list nodes at work alone: a host without a slot is fetched until its end is known.
func TestLH45_AHostWithoutASlotIsFetched(t *testing.T) {
	s := newStage(t, 1)
	s.polls(time.Hour) // nothing is adopted any more
	s.is(1, ironic.CleanWait)
	s.poll()
	n := s.is(1, ironic.CleanFailed)
	n.Locked = true
	s.polls(time.Minute)
	s.wantEndings()
	n.Locked, n.LastError = false, "Timeout reached while cleaning the node."
	s.polls(5 * time.Second)
	s.wantEndings(slots.Failed)
	if keys := s.poll(); len(keys) != 0 {
		t.Errorf("%q is fetched, want nobody", keys)
	}
}
