package ironic

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// hurried is a Hurry that notes what it is shown, and when.
type hurried struct {
	start    time.Time
	hurries  bool
	left     []string // to be fetched, once
	rows     []Change // of the last short poll
	asked    []time.Duration
	observed []NodeObservation
}

func (h *hurried) Hurries(time.Time) bool { return h.hurries }

func (h *hurried) Left(now time.Time, rows []Change) []string {
	h.asked, h.rows = append(h.asked, now.Sub(h.start)), rows
	left := h.left
	h.left = nil
	return left
}

func (h *hurried) ObserveNode(_ time.Time, s NodeObservation) { h.observed = append(h.observed, s) }

// slowly is a lister whose probe takes a while.
type slowly struct {
	Source
	takes time.Duration
}

func (s slowly) Newest(ctx context.Context, k int) ([]Change, bool, error) {
	pass(s.takes)
	return s.Source.Newest(ctx, k)
}

// shortPolls runs a Poller in front of a node that has left its work.
func shortPolls(t *testing.T, h *hurried, probe, span time.Duration) {
	t.Helper()
	h.start = time.Now()
	w := newWire(row("a", Active))
	p := poller(t, slowly{client(t, w), probe}, &view{}, func(o *PollerOptions) { o.Interval, o.Hurry, o.MaxAge = 5*time.Second, h, time.Minute })
	stop := running(t, p)
	pass(span)
	stop()
}

// While somebody waits for a slot, who has left its work is known within half a second, and
// not at the next poll.
func TestRunAsksBetweenPollsWhileSomebodyHurries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hurried{hurries: true, left: []string{"a"}}
		shortPolls(t, h, 0, 1200*time.Millisecond)
		if diff := cmp.Diff(seconds(0.5, 1), h.asked); diff != "" {
			t.Errorf("short polls (-want +got):\n%s", diff)
		}
		if len(h.observed) != 1 || h.observed[0].Node.State != Active || h.observed[0].Mark.Seq == 0 {
			t.Errorf("observed %+v", h.observed)
		}
		if len(h.rows) != 1 || h.rows[0].UUID != "a" {
			t.Errorf("rows %+v", h.rows)
		}
	})
}

func TestRunDoesNotAskBetweenPollsWhenNobodyHurries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hurried{}
		shortPolls(t, h, 0, 12*time.Second)
		if len(h.asked) != 0 {
			t.Errorf("short polls at %v", h.asked)
		}
	})
}

// A slow Ironic has other things to do: 4 % of its time at most.
func TestRunAsksLessOftenAtASlowIronic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hurried{hurries: true}
		shortPolls(t, h, 80*time.Millisecond, 4900*time.Millisecond)
		if diff := cmp.Diff(seconds(0.58, 2.66, 4.74), h.asked); diff != "" {
			t.Errorf("short polls (-want +got):\n%s", diff)
		}
		h = &hurried{hurries: true}
		shortPolls(t, h, 500*time.Millisecond, 60*time.Second)
		if n := len(h.asked); n < 2 || n > 6 { // it is tried again
			t.Errorf("short polls at %v, want two to six in a minute", h.asked)
		}
	})
}
