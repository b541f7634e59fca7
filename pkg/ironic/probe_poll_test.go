package ironic

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// lister is an Ironic with nothing to do, whose lists are always there.
type lister struct {
	now          *time.Time
	probe        func() ([]Change, bool, error)
	ask          func(k int) []Change // instead, where it is set
	probes       int
	lists        int
	probeTakes   time.Duration
	listTakes    time.Duration
	listsFailing error
}

func (l *lister) Flow(context.Context, bool) ([]State, error) { return BusyStates(), nil }

func (l *lister) List(context.Context, State) ([]Node, error) {
	l.lists++
	*l.now = l.now.Add(l.listTakes)
	return nil, l.listsFailing
}

func (l *lister) Node(context.Context, string) (Node, bool, error) { return Node{}, false, nil }

func (l *lister) Newest(_ context.Context, k int) ([]Change, bool, error) {
	l.probes++
	if l.ask != nil {
		return l.ask(k), false, nil
	}
	*l.now = l.now.Add(l.probeTakes)
	return l.probe()
}

// polls plays n polls at intervals of 5 s.
func (l *lister) polls(t *testing.T, p *Poller, n int) {
	t.Helper()
	for range n {
		*l.now = l.now.Add(5 * time.Second)
		if err := p.PollOnce(t.Context()); err != nil && l.listsFailing == nil {
			t.Fatal(err)
		}
	}
}

func newLister(t *testing.T, v *view, change ...func(*PollerOptions)) (*lister, *Poller) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	l := &lister{now: &now, listTakes: 7 * time.Millisecond, probeTakes: 8 * time.Millisecond}
	l.probe = func() ([]Change, bool, error) { return rowsOf(3, 60), true, nil }
	p := poller(t, l, v, append(change, func(o *PollerOptions) {
		o.MaxAge, o.Now = 30*time.Second, func() time.Time { return now }
	})...)
	return l, p
}

func TestGC1_anIdlePollIsOneProbe(t *testing.T) {
	v := &view{}
	l, p := newLister(t, v)
	l.polls(t, p, 61) // 12 a minute, for five minutes
	s := p.Stats()
	if l.probes < 45 || s.Unchanged < 45 || s.Unchanged+s.Listed.Age+s.Listed.Cold+s.Listed.Probe != 61 || s.Listed.Age < 9 {
		t.Errorf("%d probes; %+v", l.probes, s)
	}
}

// TestGC7_aProbeThatFailsCostsNoPoll: the lists say whether Ironic is there. After some
// failures it is left alone for a while, and then tried again.
func TestGC7_aProbeThatFailsCostsNoPoll(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		for _, cause := range []Cause{CauseServer, CauseRefused, CauseAnswer, CauseUnreachable} {
			var log bytes.Buffer
			v := &view{}
			l, p := newLister(t, v, func(o *PollerOptions) {
				o.Log = slog.New(slog.NewTextHandler(&log, nil))
				o.Changes = func(time.Time) bool { return wanted }
			})
			good := l.probe
			l.probe = func() ([]Change, bool, error) { return nil, false, &RequestError{Cause: cause, Status: 500} }
			l.polls(t, p, 100)
			if s := p.Stats(); s.Complete != 100 || s.Failed != 0 {
				t.Fatalf("%s: %+v", cause, s)
			}
			if l.probes != mostFailures || strings.Count(log.String(), "level=WARN") != 1 {
				t.Errorf("%s: %d probes in 500 s, log:\n%s", cause, l.probes, log.String())
			}
			l.probe = good
			l.polls(t, p, 60)
			if s := p.Stats(); s.Unchanged == 0 {
				t.Errorf("%s: it answers again, and is not asked: %+v", cause, s)
			}
		}
	}
}

func TestGC7_afterAFailedPollTheListsComeFirst(t *testing.T) {
	v := &view{}
	l, p := newLister(t, v)
	l.polls(t, p, 3)
	l.listsFailing = &RequestError{Cause: CauseUnreachable}
	v.waits = true
	l.polls(t, p, 1)
	v.waits = false
	was := l.probes
	l.polls(t, p, 5)
	if l.probes != was {
		t.Error("it waits for a probe while Ironic is away")
	}
	l.listsFailing = nil
	l.polls(t, p, 3)
	if l.probes == was {
		t.Error("Ironic is back, and nobody probes")
	}
}

func TestGC16_oneSlowProbeIsForgotten(t *testing.T) {
	for _, first := range []bool{true, false} {
		v := &view{}
		l, p := newLister(t, v)
		if !first {
			l.polls(t, p, 10)
		}
		l.probeTakes = 10 * time.Second
		l.polls(t, p, 3)
		l.probeTakes = 8 * time.Millisecond
		l.polls(t, p, 300)
		was := p.Stats().Unchanged
		l.polls(t, p, 60)
		if n := p.Stats().Unchanged - was; n < 30 {
			t.Errorf("first %t: of 60 polls long after a slow probe %d were without lists", first, n)
		}
	}
}

// TestAPollShowsWhetherItsChangesAreAll holds Covered, by which answers about nodes that do
// not work are kept (GW-18).
func TestAPollShowsWhetherItsChangesAreAll(t *testing.T) {
	v := &view{}
	l, p := newLister(t, v, func(o *PollerOptions) { o.Changes = func(time.Time) bool { return true } })
	for i, c := range []struct {
		rows []Change
		all  bool
		want bool
	}{
		{rowsOf(probeRows, 60), false, false}, // the first: nobody knows since when
		{rowsOf(probeRows, 60), false, true},
		{rowsOf(probeRows, 61), false, true}, // moved, and far back
		{rowsOf(probeRows, 1), false, false}, // 20 changes within 20 s: there may be more
		{rowsOf(probeRows, 1), true, true},   // these are all nodes
		{rowsOf(probeRows, 1), false, false},
	} {
		l.probe = func() ([]Change, bool, error) { return c.rows, c.all, nil }
		l.polls(t, p, 1)
		if got := v.last(t); got.Covered != c.want || got.Newest == nil {
			t.Errorf("poll %d: covered %t, want %t", i+1, got.Covered, c.want)
		}
	}
}

// TestGC9_aBusySiteIsAskedForMoreRows: where 40 nodes change all the time, 20 rows never
// reach back two minutes; 80 do. When it is calm again 20 are enough.
func TestGC9_aBusySiteIsAskedForMoreRows(t *testing.T) {
	v := &view{}
	l, p := newLister(t, v, func(o *PollerOptions) { o.Changes = func(time.Time) bool { return true } })
	busy, asked, gap := 40, 0, time.Second
	l.ask = func(k int) []Change {
		asked = k
		rows := make([]Change, 0, k)
		for i := range k {
			stamp := l.now.Add(-time.Duration(i) * gap) // who works
			if i >= busy {
				stamp = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC).Add(-time.Duration(i) * time.Hour)
			}
			rows = append(rows, Change{UUID: fmt.Sprint("node-", i), State: CleanWait, UpdatedAt: stamp.Format("2006-01-02T15:04:05.000000-07:00")})
		}
		return rows
	}
	l.polls(t, p, 10)
	if !v.last(t).Covered || asked != 80 {
		t.Errorf("with %d at work %d rows were asked for, covered %t; want 80 that cover", busy, asked, v.last(t).Covered)
	}
	busy, gap = 1_000, time.Second/10
	l.polls(t, p, 10)
	if v.last(t).Covered || asked != mostRows {
		t.Errorf("with %d at work %d rows were asked for, covered %t", busy, asked, v.last(t).Covered)
	}
	busy = 2
	l.polls(t, p, 20)
	if !v.last(t).Covered || asked != probeRows {
		t.Errorf("with %d at work %d rows were asked for, covered %t; want 20 that cover", busy, asked, v.last(t).Covered)
	}
}

// TestGC1_fewerRowsAreEnoughOnceTheyHaveStood: many nodes registered in one second make the
// probe ask for more; when they have stood for two minutes 20 rows tell as much, and the
// step back to them reads no lists.
func TestGC1_fewerRowsAreEnoughOnceTheyHaveStood(t *testing.T) {
	v := &view{}
	l, p := newLister(t, v)
	asked, state := 0, Manageable
	l.ask = func(k int) []Change {
		asked = k
		rows := make([]Change, k)
		for i := range rows {
			rows[i] = Change{UUID: fmt.Sprint("node-", i), State: Manageable, UpdatedAt: at(0)}
		}
		rows[k-1].State = state
		return rows
	}
	l.polls(t, p, 120)
	if asked != probeRows {
		t.Errorf("%d rows are asked for long after, want %d", asked, probeRows)
	}
	was := p.Stats()
	l.polls(t, p, 60)
	if s := p.Stats(); s.Listed.Probe != was.Listed.Probe || s.Unchanged-was.Unchanged < 45 {
		t.Errorf("nothing has changed for long: %+v, before %+v", s, was)
	}
	state = Deploying
	l.polls(t, p, 6)
	if s := p.Stats(); s.Listed.Probe == was.Listed.Probe {
		t.Error("a change in the last row was not observed")
	}
}
