package asker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errAway = errors.New("connection refused")

// throttle answers every ask alike and keeps the last one.
type throttle struct {
	answer api.Answer
	err    error
	asked  api.Ask
}

func (th *throttle) IsReady(_ context.Context, ask api.Ask) (api.Answer, error) {
	th.asked = ask
	return th.answer, th.err
}

// gate is the Gate of h before th.
func gate(th *throttle, h Host) Gate {
	return Gate{th, func(context.Context) (Host, error) { return h, nil }, logr.Discard()}
}

// refused is a no to the host at a position, of 30 slots.
func refused(reason api.Reason, position, retry int) api.Answer {
	return api.Answer{Reason: reason, Position: position, RetryAfterSeconds: retry, Slots: api.Slots{Limit: 30, Occupied: 30}}
}

// of is answer where there are so many slots.
func of(limit int, answer api.Answer) api.Answer {
	answer.Slots.Limit = limit
	return answer
}

var (
	yes     = api.Answer{Ready: true, Reason: api.ReasonGranted}
	observe = api.Answer{Ready: true, Reason: api.ReasonObserve}
	host    = Host{WantsImage: true, Ask: api.Ask{Namespace: "metal3", Name: "host-1", BMHState: api.BMHProvisioning, ErrorCount: 3}}
)

// never is Ironic's own rule where it must not be asked.
func never(t *testing.T) func(context.Context) (bool, error) {
	return func(context.Context) (bool, error) {
		t.Helper()
		t.Error("Ironic's own rule was asked")
		return true, nil
	}
}

func TestHasCapacity(t *testing.T) {
	for _, row := range []struct {
		name string
		throttle
		want bool
	}{
		{"a yes", throttle{answer: yes}, true},
		{"far behind", throttle{answer: refused(api.ReasonFull, 31, 60)}, false},
		{"among the next", throttle{answer: refused(api.ReasonFull, 30, 60)}, true},
		{"far behind, few slots", throttle{answer: of(5, refused(api.ReasonFull, 21, 60))}, false},
		{"among the next, few slots", throttle{answer: of(5, refused(api.ReasonTurn, 20, 60))}, true},
		{"held", throttle{answer: refused(api.ReasonHold, 0, 600)}, false},
		{"starting", throttle{answer: refused(api.ReasonStarting, 0, 5)}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := gate(&row.throttle, host).HasCapacity(t.Context(), never(t))
			if got != row.want || err != nil {
				t.Errorf("HasCapacity = %t, %v, want %t", got, err, row.want)
			}
			want := host.Ask
			want.Op = api.OpProvision
			if diff := cmp.Diff(want, row.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoAnswerIsANo: neither an error of BMO's, nor a way round the limit.
func TestNoAnswerIsANo(t *testing.T) {
	unread := Gate{&throttle{answer: yes}, func(context.Context) (Host, error) { return Host{}, errAway }, logr.Discard()}
	for name, g := range map[string]Gate{
		"the throttle is away":               gate(&throttle{err: errAway}, host),
		"an answer that is no good, and yes": gate(&throttle{answer: yes, err: api.ErrBadAnswer}, host),
		"the BareMetalHost cannot be read":   unread,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := g.HasCapacity(t.Context(), never(t)); got || err != nil {
				t.Errorf("HasCapacity = %t, %v, want a no without an error", got, err)
			}
			if wait := g.Wait(t.Context(), api.OpProvision); wait < maxWait*3/4 || wait >= maxWait {
				t.Errorf("Wait = %s, want %s to %s", wait, maxWait*3/4, maxWait)
			}
		})
	}
}

func TestWait(t *testing.T) {
	for _, row := range []struct {
		name string
		throttle
		least, most time.Duration
	}{
		{"a yes", throttle{answer: yes}, 0, 0},
		{"observe", throttle{answer: observe}, 0, 0},
		{"its turn comes soon", throttle{answer: refused(api.ReasonFull, 1, 4)}, 3 * time.Second, 4 * time.Second},
		{"its turn comes late", throttle{answer: refused(api.ReasonFull, 1, 600)}, maxWait * 3 / 4, maxWait},
		{"no time is named", throttle{answer: refused(api.ReasonFull, 1, 0)}, 750 * time.Millisecond, time.Second},
		{"far behind by now", throttle{answer: refused(api.ReasonTurn, 500, 600)}, maxWait * 3 / 4, maxWait},
	} {
		t.Run(row.name, func(t *testing.T) {
			for range 20 {
				if wait := gate(&row.throttle, host).Wait(t.Context(), api.OpInspect); wait < row.least || wait > row.most {
					t.Errorf("Wait = %s, want %s to %s", wait, row.least, row.most)
				}
			}
			want := host.Ask
			want.Op, want.BMHState = api.OpInspect, api.BMHInspecting
			if diff := cmp.Diff(want, row.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// TestObserveLeavesItToIronicsRule: who only looks has the limit that he had before.
func TestObserveLeavesItToIronicsRule(t *testing.T) {
	for _, want := range []bool{true, false} {
		g := gate(&throttle{answer: observe}, host)
		got, err := g.HasCapacity(t.Context(), func(context.Context) (bool, error) { return want, errAway })
		if got != want || !errors.Is(err, errAway) {
			t.Errorf("HasCapacity = %t, %v, want %t, %v", got, err, want, errAway)
		}
	}
}

func TestWhatAHostWantsInItsState(t *testing.T) {
	for _, row := range []struct {
		name  string
		host  Host
		state api.BMHState
		want  api.Op
	}{
		{"new", Host{Inspects: true}, api.BMHRegistering, api.OpInspect},
		{"new, without inspection", Host{}, api.BMHRegistering, api.OpNone},
		{"inspection", Host{Inspects: true}, api.BMHInspecting, api.OpInspect},
		{"preparation", Host{}, api.BMHPreparing, api.OpNone},
		{"wants an image", Host{WantsImage: true}, api.BMHAvailable, api.OpProvision},
		{"wants none", Host{}, api.BMHAvailable, api.OpNone},
		{"in the middle", Host{WantsImage: true}, api.BMHProvisioning, api.OpProvision},
		{"its Machine was deleted", Host{}, api.BMHProvisioning, api.OpNone},
		{"is used", Host{}, api.BMHProvisioned, api.OpNone},
		{"loses its image", Host{LosesImage: true}, api.BMHProvisioned, api.OpDeprovision},
		{"goes", Host{Ask: api.Ask{Deleting: true}}, api.BMHProvisioned, api.OpDeprovision},
		{"deprovisioning", Host{}, api.BMHDeprovisioning, api.OpDeprovision},
		{"power off", Host{}, "powering off before delete", api.OpNone},
	} {
		row.host.BMHState = row.state
		th := &throttle{answer: yes}
		if _, err := gate(th, row.host).HasCapacity(t.Context(), never(t)); err != nil || th.asked.Op != row.want || th.asked.BMHState != row.state {
			t.Errorf("%s: asked for %s in %s (%v), want %s in %s", row.name, th.asked.Op, th.asked.BMHState, err, row.want, row.state)
		}
	}
}

func TestTheWorkSaysWhatItIs(t *testing.T) {
	for op, state := range map[api.Op]api.BMHState{
		api.OpInspect: api.BMHInspecting, api.OpPrepare: api.BMHPreparing, api.OpProvision: api.BMHProvisioning,
		api.OpDeprovision: api.BMHDeprovisioning, api.OpService: api.BMHProvisioned,
	} {
		th := &throttle{answer: yes}
		if wait := gate(th, host).Wait(t.Context(), op); wait != 0 || th.asked.Op != op || th.asked.BMHState != state {
			t.Errorf("asked for %s in %s, told to wait %s; want %s in %s", th.asked.Op, th.asked.BMHState, wait, op, state)
		}
	}
}
