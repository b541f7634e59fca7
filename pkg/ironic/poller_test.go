package ironic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// view is a View that records what happens to it, in order.
type view struct {
	seq     uint64
	events  []string
	missing []string
	wanted  []string
	waits   bool
	whole   bool // until there was a poll
	polls   []Observation
	errs    []error
	listed  []Node // by Missing
}

func (v *view) Begin(now time.Time) Mark {
	v.seq++
	v.events = append(v.events, fmt.Sprint("begin ", v.seq))
	return Mark{Seq: v.seq, At: now}
}

func (v *view) Waits(time.Time) bool { return v.waits }

func (v *view) Whole(time.Time) bool { return v.whole && len(v.polls) == 0 }

func (v *view) Missing(_ time.Time, nodes []Node) []string {
	v.events = append(v.events, "missing")
	v.listed = append([]Node(nil), nodes...)
	return v.missing
}

func (v *view) Wanted(time.Time) []string {
	v.events = append(v.events, "wanted")
	return v.wanted
}

func (v *view) Observe(_ time.Time, observed Observation) {
	v.events = append(v.events, "observe")
	v.polls = append(v.polls, observed)
}

func (v *view) PollFailed(_ time.Time, err error) {
	v.events = append(v.events, "failed")
	v.errs = append(v.errs, err)
}

func (v *view) last(t *testing.T) Observation {
	t.Helper()
	if len(v.polls) == 0 {
		t.Fatalf("nothing observed: %v", v.errs)
	}
	return v.polls[len(v.polls)-1]
}

func poller(t *testing.T, s Source, v View, change ...func(*PollerOptions)) *Poller {
	t.Helper()
	opts := PollerOptions{AtOnce: 1}
	for _, f := range change {
		f(&opts)
	}
	p, err := NewPoller(s, v, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// counted is what p counted, without what tells of its lists.
func counted(p *Poller) PollStats {
	s := p.Stats()
	s.Listing, s.Nodes, s.ListedAt = 0, 0, time.Time{}
	return s
}

// recorded lets a wire write its requests into the events of a view.
func recorded(w *wire, v *view, then func(*http.Request) (*http.Response, error)) {
	w.before = func(_ int, r *http.Request) (*http.Response, error) {
		what := r.URL.Query().Get("provision_state")
		if what == "" {
			what = r.URL.Path
		}
		v.events = append(v.events, what)
		if then != nil {
			return then(r)
		}
		return nil, nil
	}
}

func TestLH36_OnePollInOrder(t *testing.T) {
	w := newWire(row("a", Deploying), row("gone", Active), row("b", CleanWait), row("asked", Manageable))
	v := &view{missing: []string{"gone", "ns~nobody"}, wanted: []string{"asked", "gone"}}
	recorded(w, v, nil)
	now := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	p := poller(t, client(t, w), v, func(o *PollerOptions) { o.Now = func() time.Time { return now } })
	if err := p.PollOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEvents := []string{
		"begin 1", "/v1",
		"deleting", "cleaning", "clean wait", "cleaning", "inspecting", "inspect wait", "deploying", "wait call-back", "deploying",
		"rescuing", "rescue wait", "rescuing", "unrescuing",
		"missing", "begin 2", "begin 3", "/v1/nodes/gone", "/v1/nodes/ns~nobody",
		"wanted", "begin 4", "/v1/nodes/asked",
		"observe",
	}
	if diff := cmp.Diff(wantEvents, v.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	node := func(uuid string, s State) Node { return Node{UUID: uuid, Name: "ns~" + uuid, State: s} }
	want := Observation{
		Mark:  Mark{Seq: 1, At: now},
		Nodes: []Node{node("b", CleanWait), node("a", Deploying)},
		Fetched: []NodeObservation{
			{Key: "gone", Mark: Mark{Seq: 2, At: now}, Found: true, Node: node("gone", Active)},
			{Key: "ns~nobody", Mark: Mark{Seq: 3, At: now}},
			{Key: "asked", Mark: Mark{Seq: 4, At: now}, Found: true, Node: node("asked", Manageable)},
		},
	}
	if diff := cmp.Diff(want, v.last(t)); diff != "" {
		t.Errorf("poll (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Nodes, v.listed); diff != "" {
		t.Errorf("Missing got (-want +got):\n%s", diff)
	}
	if s := counted(p); s != (PollStats{Complete: 1, Listed: Listed{Cold: 1}}) {
		t.Errorf("stats %+v", s)
	}
}

// A node that moves on while the lists are read is met again further down, and
// what it was last is what it is; one that steps back from waiting to working
// is caught by the second read.
func TestLH36_LastObservationWins(t *testing.T) {
	for _, tt := range []struct {
		name     string
		first    State
		after    State // the list after which the node moves
		moves    State
		expected State
	}{
		{"forward", Deploying, Deploying, DeployWait, DeployWait},
		{"back to working", DeployWait, Inspecting, Deploying, Deploying},
		{"waiting to working, between its two lists", CleanWait, Deleting, Cleaning, Cleaning},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire(row("a", tt.first))
			v := &view{}
			moved := false
			recorded(w, v, func(r *http.Request) (*http.Response, error) {
				state := State(r.URL.Query().Get("provision_state"))
				if moved {
					w.nodes[0]["provision_state"] = string(tt.moves)
				}
				if state == tt.after {
					moved = true
				}
				return nil, nil
			})
			if err := poller(t, client(t, w), v).PollOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			if nodes := v.last(t).Nodes; len(nodes) != 1 || nodes[0].State != tt.expected {
				t.Errorf("got %+v, want one node in %q", nodes, tt.expected)
			}
		})
	}
}

func TestLH36_SecondReadCatchesAStepBack(t *testing.T) {
	for wait, work := range map[State]State{CleanWait: Cleaning, DeployWait: Deploying, RescueWait: Rescuing} {
		w := newWire(row("a", wait))
		v := &view{}
		reads := 0
		recorded(w, v, func(r *http.Request) (*http.Response, error) {
			// It goes back to work directly before the waiting ones are listed.
			if State(r.URL.Query().Get("provision_state")) == wait {
				w.nodes[0]["provision_state"] = string(work)
				reads++
			}
			return nil, nil
		})
		if err := poller(t, client(t, w), v).PollOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if nodes := v.last(t).Nodes; reads != 1 || len(nodes) != 1 || nodes[0].State != work {
			t.Errorf("%s: got %+v, want one node in %q", wait, nodes, work)
		}
	}
}

func TestLH24_OneFailureFailsTheWholePoll(t *testing.T) {
	fails := map[string]string{
		"the version":        "/v1",
		"the first list":     "deleting",
		"the last list":      "unrescuing",
		"a fetch":            "/v1/nodes/m1",
		"the last fetch":     "/v1/nodes/m2",
		"nothing is failing": "",
	}
	for name, where := range fails {
		t.Run(name, func(t *testing.T) {
			w := newWire(row("a", Deploying), row("m1", Active), row("m2", Active))
			v := &view{missing: []string{"m1", "m2"}}
			recorded(w, v, func(r *http.Request) (*http.Response, error) {
				if where != "" && (r.URL.Path == where || r.URL.Query().Get("provision_state") == where) {
					return capture(t, "59-db-broken-list"), nil
				}
				return nil, nil
			})
			p := poller(t, client(t, w), v)
			err := p.PollOnce(t.Context())
			if where == "" {
				if err != nil || len(v.polls) != 1 || len(v.errs) != 0 || counted(p) != (PollStats{Complete: 1, Listed: Listed{Cold: 1}}) {
					t.Errorf("%v, %d polls, %v", err, len(v.polls), v.errs)
				}
				return
			}
			if CauseOf(err) != CauseServer || len(v.polls) != 0 || len(v.errs) != 1 || !errors.Is(v.errs[0], err) {
				t.Errorf("got %v; %d polls, failed with %v; want one failure and no poll", err, len(v.polls), v.errs)
			}
			if p.Stats() != (PollStats{Failed: 1}) {
				t.Errorf("stats %+v", p.Stats())
			}
		})
	}
}

func TestLH16_WantedMayFail(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fail   func() (*http.Response, error)
		keys   []string // of the observations that are left
		failed uint64
	}{
		{"refused: the others are fetched", func() (*http.Response, error) { return capture(t, "59-db-broken-list"), nil }, []string{"w1", "w3"}, 1},
		{"unreachable: likewise", func() (*http.Response, error) { return nil, errors.New("reset") }, []string{"w1", "w3"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire(row("w1", Active), row("w2", Active), row("w3", Active))
			v := &view{wanted: []string{"w1", "w2", "w3"}}
			recorded(w, v, func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/v1/nodes/w2" {
					return tt.fail()
				}
				return nil, nil
			})
			p := poller(t, client(t, w), v)
			if err := p.PollOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, s := range v.last(t).Fetched {
				keys = append(keys, s.Key)
			}
			if diff := cmp.Diff(tt.keys, keys); diff != "" || p.Stats().WantedFailed != tt.failed {
				t.Errorf("%+v (-want +got):\n%s", p.Stats(), diff)
			}
		})
	}
}

func TestLH16_AtMostTwentyWantedAndEachOnce(t *testing.T) {
	v := &view{wanted: []string{"n1", "n1", "m"}, missing: []string{"m"}}
	for i := range 50 {
		v.wanted = append(v.wanted, fmt.Sprint("x", i))
	}
	w := newWire()
	c := client(t, w)
	if err := poller(t, c, v).PollOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	// m was missing, and of the first twenty wanted one is a repetition and one is m.
	if got := c.Stats().Node.Requests; got != 1+18 {
		t.Errorf("%d fetches, want 19", got)
	}
}

// The cost of a poll is the busy lists, not the nodes that exist.
func TestPollCostDoesNotDependOnIdleNodes(t *testing.T) {
	w := newWire(row("a", Deploying))
	for i := range 5000 {
		w.nodes = append(w.nodes, row(fmt.Sprint("idle", i), Available))
	}
	c, v := client(t, w), &view{}
	p := poller(t, c, v)
	for range 3 {
		if err := p.PollOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := Stats{List: Tally{Requests: 3 * 13}, Version: Tally{Requests: 1}}
	if diff := cmp.Diff(want, c.Stats()); diff != "" || c.Stats().Requests() != 40 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLH2_ExtrasArePolledWhenWantedAndKnown(t *testing.T) {
	for _, tt := range []struct {
		max    int
		extras bool
		want   int
	}{{96, true, 6}, {96, false, 1}, {82, true, 1}, {86, true, 3}} {
		w := newWire(row("a", Deploying))
		w.max = tt.max
		for s := range ExtraStates() {
			w.nodes = append(w.nodes, row(string(s), s))
		}
		v := &view{}
		c := client(t, w, func(s *Settings) { s.CountExtras = tt.extras })
		if err := poller(t, c, v).PollOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(v.last(t).Nodes); got != tt.want {
			t.Errorf("API 1.%d, extras %v: %d nodes, want %d", tt.max, tt.extras, got, tt.want)
		}
	}
}

func TestPollIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		v := &view{}
		recorded(w, v, func(r *http.Request) (*http.Response, error) { // each answer takes 4 s
			select {
			case <-r.Context().Done():
				return nil, r.Context().Err()
			case <-time.After(4 * time.Second):
				return nil, nil
			}
		})
		p := poller(t, client(t, w), v, func(o *PollerOptions) { o.Timeout = 10 * time.Second })
		start := time.Now()
		err := p.PollOnce(t.Context())
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
		if CauseOf(err) != CauseUnreachable || !strings.HasPrefix(err.Error(), "the poll was not finished within 10s: ironic: GET /v1/nodes?provision_state=cleaning") {
			t.Errorf("got %v", err)
		}
		if len(v.polls) != 0 || len(v.errs) != 1 {
			t.Errorf("%d polls, %v", len(v.polls), v.errs)
		}
	})
}

func TestNewPollerNamesTheWrongOption(t *testing.T) {
	for name, opts := range map[string]PollerOptions{
		"interval: -1s":                         {Interval: -time.Second},
		"timeout: -1s":                          {Timeout: -time.Second},
		"requests at once: -1 must be positive": {AtOnce: -1},
	} {
		if _, err := NewPoller(nil, nil, opts); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
	p, err := NewPoller(nil, nil, PollerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := PollerOptions{Interval: 5 * time.Second, Timeout: time.Minute, MaxPause: 10 * time.Second, AtOnce: 4}
	if diff := cmp.Diff(want, p.opts, cmpopts.IgnoreFields(PollerOptions{}, "Now", "Jitter", "Log", "Changes")); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if p.opts.Jitter() != 0.5 {
		t.Error("no jitter means no spread")
	}
}

var _ Source = (*Client)(nil)

// down is a Source that fails as it is told.
type down struct{ err func() error }

func (d down) Flow(context.Context, bool) ([]State, error)      { return nil, d.err() }
func (d down) List(context.Context, State) ([]Node, error)      { return nil, d.err() }
func (d down) Node(context.Context, string) (Node, bool, error) { return Node{}, false, d.err() }

func (d down) Newest(context.Context, int) ([]Change, bool, error) { return nil, true, d.err() }
