package fakebmo

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const stormLimit = 3

// TestBuiltIn_overshoot: workers list, decide and only then act. As many of them
// as there are pass at the first moment, so the peak is above the limit for
// certain; it is never above limit + workers - 1 (docs/dev/reference/bmo.md).
func TestBuiltIn_overshoot(t *testing.T) {
	for _, workers := range []int{1, 2, 8, 16} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStage(t, setup{hosts: 16, workers: workers, rule: builtInRule})
				st.run()
				st.pass(10 * time.Minute)
				peak, most := st.truth().PeakWorking, stormLimit+workers-1
				if peak > most || workers > 1 && peak <= stormLimit {
					t.Errorf("peak %d, want above %d and at most %d", peak, stormLimit, most)
				}
			})
		})
	}
}

// busyNodes puts so many nodes of a stage into a state, with an agent or not.
func busyNodes(st *stage, n int, s ironic.State, agent bool) {
	st.t.Helper()
	st.ironic.With(func(now time.Time, w *fakeironic.World) {
		for _, id := range w.Idents()[:n] {
			if err := w.SetState(now, id, s, agent); err != nil {
				st.t.Fatal(err)
			}
		}
	})
}

func TestRules(t *testing.T) {
	first, last := hostName(0), hostName(9)
	rescue := func(o *fakeironic.Options) { o.Fleet.Start = ironic.Active }
	for _, c := range []struct {
		name  string
		rule  func(*Client) Capacity
		busy  int
		state ironic.State
		agent bool
		world func(*fakeironic.Options)
		host  string
		want  bool
	}{
		{"bmo, one below the limit", builtInRule, stormLimit - 1, ironic.Deploying, false, nil, last, true},
		{"bmo, at the limit", builtInRule, stormLimit, ironic.Deploying, false, nil, last, false},
		{"bmo, at the limit, a busy host", builtInRule, stormLimit, ironic.Deploying, false, nil, first, true},
		{"bmo does not know rescue", builtInRule, stormLimit, ironic.RescueWait, true, rescue, last, true},
		{"bmo counts nodes without a name as one", builtInRule, stormLimit, ironic.Deploying, false,
			func(o *fakeironic.Options) { o.Fleet.Unnamed = 1 }, last, true},
		{"bmo leaves virtual media out", builtInRule, stormLimit, ironic.Deploying, false,
			func(o *fakeironic.Options) { o.Fleet.VirtualMedia = 1 }, last, true},
		{"bmo sees the first page only", builtInRule, 10, ironic.Deploying, false,
			func(o *fakeironic.Options) { o.API.MaxLimit = stormLimit - 1 }, "of-another", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStage(t, setup{hosts: 10, rule: c.rule, ironic: c.world})
				busyNodes(st, c.busy, c.state, c.agent)
				got, err := st.op.opt.Capacity.HasCapacity(t.Context(), api.Ask{Namespace: "ns-01", Name: c.host, Op: api.OpInspect})
				if err != nil || got != c.want {
					t.Errorf("%t, %v; want %t", got, err, c.want)
				}
				st.fault(fakeironic.Fault{Trouble: fakeironic.Status, Code: 500})
				if got, err := st.op.opt.Capacity.HasCapacity(t.Context(), api.Ask{}); got || err == nil {
					t.Errorf("after a 500: %t, %v", got, err)
				}
			})
		})
	}
}

func builtInRule(c *Client) Capacity { return BuiltIn(c, stormLimit) }

// asker is a throttle that answers what it is told.
type asker struct {
	got    api.Ask
	answer api.Answer
	err    error
}

func (a *asker) IsReady(_ context.Context, ask api.Ask) (api.Answer, error) {
	a.got = ask
	return a.answer, a.err
}

// TestNoAnswerIsNo: a throttle that cannot be reached, or answers nonsense,
// is a no and never an error: the limit holds.
func TestNoAnswerIsNo(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer api.Answer
		err    error
		want   bool
	}{
		{"yes", api.Answer{Ready: true, Reason: api.ReasonGranted}, nil, true},
		{"no", api.Answer{Reason: api.ReasonFull}, nil, false},
		{"unreachable", api.Answer{}, api.ErrUnreachable, false},
		{"yes with an error", api.Answer{Ready: true}, errors.New("torn"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &asker{answer: c.answer, err: c.err}
			got, err := Throttle(a).HasCapacity(t.Context(), api.Ask{Name: "x", Op: api.OpInspect})
			if got != c.want || err != nil || a.got.Name != "x" {
				t.Errorf("%t, %v, asked %+v; want %t", got, err, a.got, c.want)
			}
		})
	}
}

// TestAsks: what the throttle is told of each state of a life.
func TestAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 1})
		var asks []api.Ask
		st.answer(func(a api.Ask) bool { asks = append(asks, a); return true })
		st.befall("ns-01~"+hostName(0), fakeironic.FateFail, 1)
		st.run()
		st.until(api.BMHProvisioned)
		type form struct {
			op    api.Op
			state api.BMHState
		}
		var got []form
		for _, a := range asks {
			if err := a.Validate(); err != nil {
				t.Error(err)
			}
			if a.NodeUUID == "" || a.Namespace != "ns-01" || a.Name != hostName(0) {
				t.Errorf("%+v", a)
			}
			if f := (form{a.Op, a.BMHState}); len(got) == 0 || got[len(got)-1] != f {
				got = append(got, f)
			}
		}
		again := []form{{api.OpProvision, api.BMHAvailable}, {api.OpProvision, api.BMHProvisioning}}
		want := append([]form{{api.OpInspect, api.BMHRegistering}, {api.OpInspect, api.BMHInspecting}}, again...)
		want = append(want, form{api.OpDeprovision, api.BMHProvisioning}, form{api.OpDeprovision, api.BMHDeprovisioning})
		want = append(want, again...)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("asks %v\nwant %v", got, want)
		}
		if last := asks[len(asks)-1]; last.ProvisioningFailCount != 1 || last.ErrorCount != 0 {
			t.Errorf("after one failure: %+v", last)
		}
	})
}
