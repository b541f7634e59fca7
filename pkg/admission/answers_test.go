package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// An answer shows the numbers after it, and is counted by its reason.
func TestAnAnswerShowsTheNumbersAfterIt(t *testing.T) {
	c, now := settled(t, 2)
	for n, want := range []int{1, 2, 2} {
		a := c.IsReady(now, by(n, api.OpProvision))
		if text := fmt.Sprintf("%d of 2 occupied", want); a.Slots.Occupied != want || !strings.Contains(a.Message, text) {
			t.Errorf("ask %d: %d occupied, want %q in %q", n, a.Slots.Occupied, text, a.Message)
		}
	}
	for _, count := range c.Status(now).Asks {
		want := map[api.Reason]uint64{api.ReasonGranted: 2, api.ReasonFull: 1}[count.Reason]
		if count.Count != want {
			t.Errorf("%d answers %s, want %d", count.Count, count.Reason, want)
		}
	}
}

// A status may be shared for as long as the revision stays: every ask moves it, a dry run does not.
func TestTheRevisionGrowsWithEachAsk(t *testing.T) {
	c, now := settled(t, 1)
	for n, ask := range []api.Ask{by(1, api.OpProvision), by(2, api.OpProvision), by(1, api.OpNone)} {
		before := c.Revision()
		dry := ask
		dry.DryRun = true
		c.IsReady(now, dry)
		if c.Revision() != before {
			t.Errorf("ask %d: its dry run moves the revision", n)
		}
		c.IsReady(now, ask)
		if c.Revision() == before {
			t.Errorf("ask %d: the revision stays", n)
		}
	}
}
