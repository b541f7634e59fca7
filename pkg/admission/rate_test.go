package admission_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
)

// The order of the decision asks for the rate before the turn and the slots: a host for
// which neither is left is told of the rate, in each way to ask.
func TestCB16_TheRateIsAskedForBeforeTheSlots(t *testing.T) {
	f := newFront(t, 2, whole(3, func(c *breaker.Config) { c.RateLimitPerMinute = 2 }))
	f.want(by(1, api.OpProvision), api.ReasonGranted)
	f.want(by(2, api.OpProvision), api.ReasonGranted)
	dry := by(3, api.OpProvision)
	dry.DryRun = true
	f.want(dry, api.ReasonRate)
	if a := f.Vacancy(f.now); a.Reason != api.ReasonRate || a.RetryAfterSeconds != 60 {
		t.Errorf("the bare question is answered %+v, want rate and 60 s", a)
	}
	if a := f.want(by(3, api.OpProvision), api.ReasonRate); a.Position != 1 || a.RetryAfterSeconds != 60 {
		t.Errorf("answer %+v, want position 1 and 60 s", a)
	}
	f.want(dry, api.ReasonRate)
	f.after(time.Minute) // the minute is over, the slots are not free
	f.want(dry, api.ReasonFull)
	f.want(by(3, api.OpProvision), api.ReasonFull)
	if got := f.Vacancy(f.now).Reason; got != api.ReasonFull {
		t.Errorf("the bare question is answered %s, want full", got)
	}
}

// A host that is capped besides is told of the rate as well.
func TestCB16_TheRateIsAskedForBeforeTheCap(t *testing.T) {
	f := newFront(t, 4, whole(3, func(c *breaker.Config) { c.RateLimitPerMinute = 3 }))
	bad := func(i int) api.Ask {
		ask := by(i, api.OpProvision)
		ask.ErrorCount = 5
		return ask
	}
	for i := range 3 {
		f.want(bad(1+i), api.ReasonGranted)
	}
	f.want(bad(5), api.ReasonRate)
	f.after(time.Minute)
	f.want(bad(5), api.ReasonFailingCap)
}

func TestCB16_ObserveCountsTheRateBeforeTheSlots(t *testing.T) {
	f := newFront(t, 2, whole(3, func(c *breaker.Config) { c.RateLimitPerMinute = 2 }), func(c *admission.Config) { c.Mode = admission.Observe })
	f.want(by(1, api.OpProvision), api.ReasonGranted)
	f.want(by(2, api.OpProvision), api.ReasonGranted)
	f.want(by(3, api.OpProvision), api.ReasonObserve)
	for _, c := range f.Status(f.now).Refusals {
		want := uint64(0)
		if c.Reason == api.ReasonRate {
			want = 1
		}
		if c.Count != want {
			t.Errorf("refusals for %s: %d, want %d", c.Reason, c.Count, want)
		}
	}
}
