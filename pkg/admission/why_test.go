package admission_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// whyCases end with the story of host 2, or of the host that they name.
var whyCases = []struct {
	name     string
	standing api.Standing
	reason   api.Reason // "" where it never asked
	play     func(t *testing.T) (f *front, namespace, name string)
}{
	{"unknown", api.StandingUnknown, "", func(t *testing.T) (*front, string, string) {
		return newFront(t, 2), "metal3", "host-9"
	}},
	{"found at work", api.StandingWorking, "", func(t *testing.T) (*front, string, string) {
		f := newFront(t, 2)
		f.of(2)
		f.becomes(2, ironic.Deploying, "")
		f.passes(3 * time.Minute)
		return f, "", uuid(2)
	}},
	{"waits for a slot", api.StandingWaiting, api.ReasonFull, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 1)
		f.of(2)
		f.of(3)
		f.starts(1)
		for range 7 {
			f.want(by(3, api.OpProvision), api.ReasonFull)
			f.want(by(2, api.OpProvision), api.ReasonFull)
			f.passes(time.Minute)
		}
		return f, "metal3", "host-2"
	}},
	{"its turn has come", api.StandingWaiting, api.ReasonGranted, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 1)
		f.of(2)
		f.of(3)
		f.starts(1)
		f.want(by(2, api.OpProvision), api.ReasonFull)
		f.succeeds(1)
		f.linger()
		return f, "metal3", "host-2"
	}},
	{"has a slot", api.StandingStarting, api.ReasonHeldSlot, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 1)
		f.of(2)
		f.want(by(2, api.OpProvision), api.ReasonGranted)
		f.passes(20 * time.Second)
		return f, "metal3", "host-2"
	}},
	{"never began", api.StandingStarting, api.ReasonNotCalled, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 1)
		f.of(2)
		f.want(by(2, api.OpProvision), api.ReasonGranted)
		for range 50 {
			f.passes(30 * time.Second)
			if f.ask(by(2, api.OpProvision)).Reason == api.ReasonNotCalled {
				break
			}
		}
		return f, "metal3", "host-2"
	}},
	{"works", api.StandingWorking, api.ReasonHeldSlot, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 1)
		f.starts(2)
		f.passes(4 * time.Minute)
		return f, "metal3", "host-2"
	}},
	{"work is over", api.StandingStarting, api.ReasonHeldSlot, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 1)
		f.starts(2)
		f.becomes(2, ironic.DeployFailed, "Agent did not call.")
		return f, "metal3", "host-2"
	}},
	{"held", api.StandingStopped, api.ReasonHold, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 4, holding(hour))
		f.failedAndCleaned(2)
		f.linger()
		f.want(by(2, api.OpProvision), api.ReasonHold)
		return f, "metal3", "host-2"
	}},
	{"held, never asked", api.StandingStopped, "", func(t *testing.T) (*front, string, string) {
		f := newFront(t, 4, holding(hour))
		f.of(2)
		f.becomes(2, ironic.Deploying, "")
		f.fails("Agent did not call", 2)
		f.linger()
		return f, "metal3", "host-2"
	}},
	{"released", api.StandingWaiting, api.ReasonGranted, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 4, holding(hour))
		f.failedAndCleaned(2)
		f.linger()
		f.want(by(2, api.OpProvision), api.ReasonHold)
		if _, err := f.ReleaseHold(f.now, "metal3", "host-2", ""); err != nil {
			t.Fatal(err)
		}
		return f, "metal3", "host-2"
	}},
	{"its group is paused", api.StandingStopped, api.ReasonShortCircuit, func(t *testing.T) (*front, string, string) {
		quota, err := holdoff.ParseQuota("0")
		if err != nil {
			t.Fatal(err)
		}
		f := newFront(t, 5, holding(hour, func(c *admission.Config) { c.MaxFailed = quota }))
		f.failedAndCleaned(1)
		f.shorted(2)
		return f, "metal3", "host-2"
	}},
	{"breaker open", api.StandingStopped, api.ReasonBreakerOpen, func(t *testing.T) (*front, string, string) {
		f := opened(t, 8)
		f.of(22)
		f.want(by(22, api.OpProvision), api.ReasonBreakerOpen)
		return f, "metal3", "host-22"
	}},
	{"breaker half open", api.StandingStopped, api.ReasonHalfOpen, func(t *testing.T) (*front, string, string) {
		f := opened(t, 8)
		f.of(22)
		f.passes(15 * time.Minute)
		f.starts(20, 21)
		f.want(by(22, api.OpProvision), api.ReasonHalfOpen)
		return f, "metal3", "host-22"
	}},
	{"rate", api.StandingWaiting, api.ReasonRate, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 9, whole(3, func(c *breaker.Config) { c.RateLimitPerMinute = 1 }))
		f.want(by(1, api.OpProvision), api.ReasonGranted)
		f.want(by(2, api.OpProvision), api.ReasonRate)
		return f, "metal3", "host-2"
	}},
	{"nobody asks", api.StandingWaiting, api.ReasonFull, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 1)
		f.of(2)
		f.starts(1)
		f.want(by(2, api.OpProvision), api.ReasonFull)
		f.becomes(1, ironic.Deploying, "")
		f.passes(150 * time.Second)
		return f, "metal3", "host-2"
	}},
	{"nobody asks, and a slot is free", api.StandingWaiting, api.ReasonGranted, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 1)
		f.of(2)
		f.starts(1)
		f.want(by(2, api.OpProvision), api.ReasonFull)
		f.succeeds(1)
		f.passes(150 * time.Second)
		return f, "metal3", "host-2"
	}},
	{"of little weight", api.StandingWaiting, api.ReasonFull, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 1, func(c *admission.Config) { c.Turns.Weights = map[string]float64{"metal3": 100} })
		f.starts(1)
		ask := by(2, api.OpProvision)
		ask.Namespace, ask.Name, ask.NodeUUID = "small", "db-5", ""
		f.want(ask, api.ReasonFull)
		return f, "small", "db-5"
	}},
	{"stale", api.StandingStopped, api.ReasonStale, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 1)
		f.of(2)
		f.of(3)
		f.starts(1)
		f.want(by(2, api.OpProvision), api.ReasonFull)
		f.now = f.now.Add(5 * time.Minute)
		f.PollFailed(f.now, fmt.Errorf("ironic: GET /v1/nodes: unreachable"))
		f.want(by(2, api.OpProvision), api.ReasonStale)
		return f, "metal3", "host-2"
	}},
	{"planned", api.StandingWaiting, api.ReasonPlannedYields, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 1)
		f.of(2)
		f.starts(1)
		f.want(by(3, api.OpProvision), api.ReasonFull)
		f.want(planned(by(2, api.OpProvision)), api.ReasonPlannedYields)
		return f, "metal3", "host-2"
	}},
	{"observe", api.StandingIdle, api.ReasonObserve, func(t *testing.T) (*front, string, string) {
		f := newFront(t, 1, func(c *admission.Config) { c.Mode = admission.Observe })
		f.starts(1)
		f.want(by(2, api.OpProvision), api.ReasonObserve)
		return f, "metal3", "host-2"
	}},
}

// TestWhyTellsTheStory compares with testdata/why.txt; UPDATE_GOLDEN=1 renews it.
func TestWhyTellsTheStory(t *testing.T) {
	var b strings.Builder
	for _, row := range whyCases {
		f, namespace, name := row.play(t)
		before := f.Revision()
		w := f.Why(f.now, namespace, name)
		if again := f.Why(f.now, namespace, name); cmp.Diff(w, again) != "" || f.Revision() != before {
			t.Errorf("%s: asking why changes something: %s", row.name, cmp.Diff(w, again))
		}
		var reason api.Reason
		if w.Answer != nil {
			reason = w.Answer.Reason
		}
		if w.Standing != row.standing || reason != row.reason {
			t.Errorf("%s: %s (%s), want %s (%s)", row.name, w.Standing, reason, row.standing, row.reason)
		}
		if len(w.Steps) == 0 || len(w.Story) == 0 {
			t.Errorf("%s: story %q, steps %q", row.name, w.Story, w.Steps)
		}
		fmt.Fprintf(&b, "== %s: %s is %s\n", row.name, w.Host, w.Standing)
		for _, s := range w.Story {
			fmt.Fprintf(&b, "%s\n", s)
		}
		for _, s := range w.Steps {
			fmt.Fprintf(&b, "> %s\n", s)
		}
		for _, e := range w.History {
			fmt.Fprintf(&b, "- %s ago: %s, %d times\n", f.now.Sub(e.At).Round(time.Second), e.Text, e.Times)
		}
		fmt.Fprintln(&b)
	}
	golden(t, "why.txt", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (UPDATE_GOLDEN=1 renews it):\n%s", name, diff)
	}
}
