package slots

import (
	"maps"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// life plays one host, its node and the clock.
type life struct {
	l   *Ledger
	now time.Time
	put *Put
}

// newLife returns a ledger that has settled and adopts no more.
func newLife(t *testing.T) *life {
	t.Helper()
	start := time.Unix(0, 0)
	l, err := New(DefaultConfig(), start)
	if err != nil {
		t.Fatal(err)
	}
	f := &life{l: l, now: start.Add(time.Hour)}
	l.Observe(f.now, ironic.Observation{Mark: l.Begin(f.now)})
	return f
}

// host returns the host, which bears one name all its life.
func (f *life) host() *host {
	if h := f.l.find(ID{UUID: "u", Name: "ns~n"}); h != nil {
		return h
	}
	return newHost()
}

func (f *life) check(a Ask) Verdict {
	f.l.Observe(f.now, ironic.Observation{Mark: f.l.Begin(f.now), Unchanged: true})
	return f.l.Check(f.now, a)
}

// ask asks to provision and carries the answer out.
func (f *life) ask(id ID) {
	v := f.check(Ask{ID: id, Op: api.OpProvision, BMHState: api.BMHProvisioning})
	if v.Outcome == Open {
		f.l.Grant(f.now, v)
	} else {
		f.l.Commit(f.now, v)
	}
}

func askUUID(f *life) { f.ask(ID{UUID: "u", Name: "ns~n"}) }
func askName(f *life) { f.ask(ID{Name: "ns~n"}) }

// is fetches the node, which is in that state.
func is(state ironic.State) func(*life) {
	return func(f *life) {
		f.l.ObserveNode(f.now, ironic.NodeObservation{Key: "u", Mark: f.l.Begin(f.now), Found: true,
			Node: ironic.Node{UUID: "u", Name: "ns~n", State: state, AgentURL: true}})
	}
}

// missing fetches the node; the answer is 404.
func missing(f *life) {
	f.l.ObserveNode(f.now, ironic.NodeObservation{Key: "u", Mark: f.l.Begin(f.now)})
}

func put(f *life) {
	v := f.check(Ask{ID: ID{UUID: "u", Name: "ns~n"}, Op: api.OpProvision, Put: true})
	f.put = f.l.Forward(f.now, v, ironic.TargetActive)
	f.l.Sent(f.now, f.put)
}

func answered(status int) func(*life) {
	return func(f *life) { f.l.Answered(f.now, f.put, status) }
}

func after(d time.Duration) func(*life) {
	return func(f *life) { f.now = f.now.Add(d) }
}

// TestEveryTransitionHappens takes a host through each transition of the table, by what Ironic
// and its asker do. The last act is the one that causes it.
func TestEveryTransitionHappens(t *testing.T) {
	held := map[step]phase{}
	for _, row := range []struct {
		from phase
		on   event
		to   phase
		acts []func(*life)
	}{
		{vacant, granted, leased, []func(*life){askUUID}},
		{vacant, found, working, []func(*life){is(ironic.Deploying)}},
		{leased, began, working, []func(*life){askUUID, is(ironic.Deploying)}},
		{leased, began, working, []func(*life){put, answered(202)}},
		{leased, finished, vacant, []func(*life){askUUID, after(time.Minute), is(ironic.Active), askUUID}},
		{leased, expired, vacant, []func(*life){askUUID, after(5 * time.Minute), is(ironic.Available)}},
		{leased, refused, vacant, []func(*life){put, answered(409)}},
		{leased, vanished, vacant, []func(*life){askUUID, missing, missing}},
		{leased, moved, leased, []func(*life){is(ironic.Available), askName, missing, missing}},
		{working, began, working, []func(*life){askUUID, is(ironic.Deploying), is(ironic.DeployWait)}},
		{working, stopped, lingering, []func(*life){askUUID, is(ironic.Deploying), is(ironic.DeployFailed)}},
		{working, vanished, vacant, []func(*life){askUUID, is(ironic.Deploying), missing, missing}},
		{working, moved, leased, []func(*life){askName, is(ironic.Deploying), missing, missing}},
		{lingering, began, working, []func(*life){askUUID, is(ironic.Cleaning), is(ironic.Available), is(ironic.Deploying)}},
		{lingering, finished, vacant, []func(*life){askUUID, is(ironic.Deploying), is(ironic.DeployFailed), after(time.Minute), is(ironic.DeployFailed)}},
		{lingering, vanished, vacant, []func(*life){askUUID, is(ironic.Deploying), is(ironic.DeployFailed), missing, missing}},
		{lingering, moved, leased, []func(*life){askName, is(ironic.Deploying), is(ironic.DeployFailed), missing, missing}},
	} {
		held[step{row.from, row.on}] = row.to
		f := newLife(t)
		last := len(row.acts) - 1
		for _, act := range row.acts[:last] {
			act(f)
		}
		from := f.host().phase
		row.acts[last](f)
		if to := f.host().phase; from != row.from || to != row.to {
			t.Errorf("%s: %s to %s, want %s to %s", row.on, from, to, row.from, row.to)
		}
		if f.l.illegalMoves > 0 {
			t.Errorf("%s from %s: a move is no transition", row.on, row.from)
		}
	}
	if !maps.Equal(held, transitions) {
		t.Errorf("happened: %v\nin force: %v", held, transitions)
	}
}
