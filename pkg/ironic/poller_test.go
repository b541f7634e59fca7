package ironic_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// view is a View that records what happens to it.
type view struct {
	seq     uint64
	whole   bool
	hurries bool
	fetch   []string
	polls   []ironic.Observation
	errs    []error
}

func (v *view) Begin(now time.Time) ironic.Mark {
	v.seq++
	return ironic.Mark{Seq: v.seq, At: now}
}

func (v *view) Whole(time.Time) bool                          { return v.whole }
func (v *view) Hurries(time.Time) bool                        { return v.hurries }
func (v *view) Fetch(time.Time, *ironic.Observation) []string { return v.fetch }
func (v *view) Observe(_ time.Time, o ironic.Observation)     { v.polls = append(v.polls, o) }
func (v *view) PollFailed(_ time.Time, err error)             { v.errs = append(v.errs, err) }
func (v *view) last(t *testing.T) (last ironic.Observation) {
	t.Helper()
	if len(v.polls) == 0 {
		t.Fatalf("nothing observed: %v", v.errs)
	}
	return v.polls[len(v.polls)-1]
}

// site is a Source that answers as it is told, and notes what it was asked.
type source struct {
	mu    sync.Mutex
	page  []ironic.Node
	all   bool
	lists map[ironic.State][]ironic.Node
	nodes map[string]ironic.Node
	asked []string
	each  func(ctx context.Context, what string) error // before every answer, if it is set
}

func (s *source) ask(ctx context.Context, what string) error {
	s.mu.Lock()
	s.asked = append(s.asked, what)
	each := s.each
	s.mu.Unlock()
	if each == nil {
		return nil
	}
	return each(ctx, what)
}

func (s *source) Newest(ctx context.Context) ([]ironic.Node, bool, error) {
	return slices.Clone(s.page), s.all, s.ask(ctx, "newest")
}

func (s *source) Flow(_ context.Context, whole bool) ([]ironic.State, error) {
	return ironic.PollOrder(false, whole), nil
}

func (s *source) List(ctx context.Context, state ironic.State) ([]ironic.Node, error) {
	return s.lists[state], s.ask(ctx, string(state))
}

func (s *source) Node(ctx context.Context, key string) (ironic.Node, bool, error) {
	n, found := s.nodes[key]
	return n, found, s.ask(ctx, key)
}

// changed is a node with the stamp of a second.
func changed(uuid string, state ironic.State, second int) ironic.Node {
	return ironic.Node{UUID: uuid, State: state, ProvisionUpdatedAt: fmt.Sprintf("2026-08-01T00:00:%02d+00:00", second)}
}

func poller(t *testing.T, s ironic.Source, v ironic.View, change ...func(*ironic.PollerOptions)) *ironic.Poller {
	t.Helper()
	opts := ironic.PollerOptions{AtOnce: 1}
	for _, f := range change {
		f(&opts)
	}
	p, err := ironic.NewPoller(s, v, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestWhatAPollReads: the page of the newest changes alone, unless that cannot be enough.
func TestWhatAPollReads(t *testing.T) {
	page := func(newest, oldest int) []ironic.Node {
		return []ironic.Node{changed("a", ironic.Deploying, newest), changed("b", ironic.Active, oldest)}
	}
	null := ironic.Node{UUID: "never"}
	for _, tt := range []struct {
		name  string
		polls func(s *source, v *view, at func(seconds int) string)
	}{
		{"the first one reads all lists, then one a minute those of work", func(s *source, _ *view, at func(int) string) {
			s.page = page(10, 5)
			expect(t, at(0), "whole")
			s.page = page(11, 6)
			expect(t, at(5), "newest")
			expect(t, at(59), "newest")
			expect(t, at(60), "busy")
		}},
		{"where nothing happens, one in two minutes", func(s *source, _ *view, at func(int) string) {
			s.page = page(10, 5)
			expect(t, at(0), "whole")
			expect(t, at(119), "newest")
			expect(t, at(120), "busy")
			expect(t, at(239), "newest")
			expect(t, at(240), "busy")
		}},
		{"a page that does not reach back to the newest change before", func(s *source, _ *view, at func(int) string) {
			s.page = page(10, 5)
			expect(t, at(0), "whole")
			s.page = page(20, 9)
			expect(t, at(5), "newest")
			s.page = page(30, 21)
			expect(t, at(10), "busy")
			s.page = page(40, 30) // others of that second may be cut off
			expect(t, at(15), "busy")
		}},
		{"all nodes there are", func(s *source, _ *view, at func(int) string) {
			s.page, s.all = page(10, 5), true
			expect(t, at(0), "all")
			s.page = page(30, 20)
			expect(t, at(5), "all")
			s.page = nil
			expect(t, at(100), "all")
			s.page, s.all = page(40, 35), false
			expect(t, at(105), "busy")
		}},
		{"a view that wants to know all", func(s *source, v *view, at func(int) string) {
			s.page, v.whole = page(10, 5), true
			expect(t, at(0), "whole")
			expect(t, at(5), "whole")
			v.whole = false
			expect(t, at(10), "newest")
		}},
		{"nodes that never changed come last", func(s *source, _ *view, at func(int) string) {
			s.page = []ironic.Node{changed("a", ironic.Active, 5), null}
			expect(t, at(0), "whole")
			s.page = []ironic.Node{changed("a", ironic.Active, 5), changed("b", ironic.Active, 7), null}
			expect(t, at(5), "newest")
		}},
		{"nodes that never changed come first: nothing is known", func(s *source, _ *view, at func(int) string) {
			s.page = []ironic.Node{null, changed("a", ironic.Active, 5)}
			expect(t, at(0), "whole")
			expect(t, at(5), "busy")
		}},
		{"after a failure", func(s *source, _ *view, at func(int) string) {
			s.page = page(10, 5)
			expect(t, at(0), "whole")
			s.each = func(context.Context, string) error { return errors.New("away") }
			expect(t, at(5), "failed")
			s.each = nil
			expect(t, at(10), "whole")
			expect(t, at(15), "newest")
		}},
		{"the clock is set back", func(s *source, _ *view, at func(int) string) {
			s.page = page(10, 5)
			expect(t, at(50), "whole")
			expect(t, at(40), "busy")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, v := &source{}, &view{}
			now := time.Time{}
			start := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
			p := poller(t, s, v, func(o *ironic.PollerOptions) { o.Now = func() time.Time { return now } })
			tt.polls(s, v, func(seconds int) string {
				now, s.asked = start.Add(time.Duration(seconds)*time.Second), nil
				if p.PollOnce(t.Context()) != nil {
					return "failed"
				}
				return shape(v.last(t), s.asked)
			})
		})
	}
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("reads %s, want %s", got, want)
	}
}

// shape names what a poll has read; "?" with what it was if the observation says otherwise.
func shape(o ironic.Observation, asked []string) string {
	lists := len(asked) - 1
	switch {
	case lists == 0 && !o.Listed && !o.Whole:
		return "newest"
	case lists == 0 && o.Listed && o.Whole:
		return "all"
	case lists == len(ironic.PollOrder(false, false)) && o.Listed && !o.Whole:
		return "busy"
	case lists == len(ironic.PollOrder(false, true)) && o.Listed && o.Whole:
		return "whole"
	}
	return fmt.Sprintf("? %v listed %v whole %v", asked, o.Listed, o.Whole)
}

// A node that moves on while a poll reads is met again further down, and what it was last is what it is.
func TestTheLastObservationWins(t *testing.T) {
	s := &source{
		page:  []ironic.Node{changed("a", ironic.Deploying, 5), changed("idle", ironic.Available, 4)},
		lists: map[ironic.State][]ironic.Node{ironic.Deploying: {changed("b", ironic.Deploying, 3)}, ironic.DeployWait: {changed("a", ironic.DeployWait, 6), changed("b", ironic.DeployWait, 6)}},
		nodes: map[string]ironic.Node{"c": {UUID: "c", State: ironic.Active}},
	}
	v := &view{fetch: []string{"c", "nobody"}}
	if err := poller(t, s, v, func(o *ironic.PollerOptions) { o.Now = func() time.Time { return time.Time{} } }).PollOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := ironic.Observation{
		Mark: ironic.Mark{Seq: 1}, Listed: true, Whole: true,
		Nodes: []ironic.Node{changed("a", ironic.DeployWait, 6), changed("idle", ironic.Available, 4), changed("b", ironic.DeployWait, 6)},
		Fetched: []ironic.NodeObservation{
			{Key: "c", Mark: ironic.Mark{Seq: 2}, Found: true, Node: ironic.Node{UUID: "c", State: ironic.Active}}, {Key: "nobody", Mark: ironic.Mark{Seq: 3}},
		},
	}
	if diff := cmp.Diff(want, v.last(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWhatFailsAPoll: the page or a list, and not a fetch.
func TestWhatFailsAPoll(t *testing.T) {
	for what, fails := range map[string]bool{"newest": true, "deleting": true, "error": true, "m1": false, "": false} {
		s := &source{each: func(_ context.Context, asked string) error {
			if asked == what {
				return errors.New("away")
			}
			return nil
		}}
		v := &view{fetch: []string{"m1", "m2"}}
		err := poller(t, s, v).PollOnce(t.Context())
		switch {
		case fails:
			if err == nil || len(v.polls) != 0 || len(v.errs) != 1 || !errors.Is(v.errs[0], err) {
				t.Errorf("%q: %v; %d polls, failed with %v; want one failure and no poll", what, err, len(v.polls), v.errs)
			}
		case err != nil || len(v.errs) != 0:
			t.Errorf("%q: %v, %v", what, err, v.errs)
		default:
			if got, want := len(v.last(t).Fetched), map[string]int{"m1": 1, "": 2}[what]; got != want {
				t.Errorf("%q: %d fetched, want %d", what, got, want)
			}
		}
	}
}

func TestAPollIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{each: func(ctx context.Context, _ string) error { // each answer takes 4 s
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(4 * time.Second):
				return nil
			}
		}}
		v := &view{}
		start := time.Now()
		err := poller(t, s, v, func(o *ironic.PollerOptions) { o.Timeout = 10 * time.Second }).PollOnce(t.Context())
		if took := time.Since(start); took != 10*time.Second || err == nil || !strings.HasPrefix(err.Error(), "the poll was not finished within 10s: ") {
			t.Errorf("%v after %v", err, took)
		}
		if len(v.polls) != 0 || len(v.errs) != 1 {
			t.Errorf("%d polls, %v", len(v.polls), v.errs)
		}
	})
}

// The poll is old by the time that it is observed, so fetches take no longer than a pause.
func TestSlowFetchesDoNotAgeAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{all: true, nodes: map[string]ironic.Node{"w1": {}, "w2": {}, "w3": {}}, each: func(ctx context.Context, what string) error {
			if what == "w2" {
				<-ctx.Done()
			}
			return ctx.Err()
		}}
		v := &view{fetch: []string{"w1", "w2", "w3"}}
		start := time.Now()
		if err := poller(t, s, v, func(o *ironic.PollerOptions) { o.Interval = 3 * time.Second }).PollOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took, got := time.Since(start), v.last(t).Fetched; took != 3*time.Second || len(got) != 1 || got[0].Key != "w1" {
			t.Errorf("observed %+v after %v, want w1 after one pause", got, took)
		}
	})
}

// A poll of a slow Ironic takes as long as the longest row of lists, not as all of them: what a node passes through is
// read in that order, everything else side by side, four at once.
func TestKindsOfWorkAreReadSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked, begun := map[string]time.Duration{}, time.Now()
		s := &source{each: func(_ context.Context, what string) error {
			mu.Lock()
			asked[what] = time.Since(begun) / time.Second
			mu.Unlock()
			if what != "newest" {
				pass(time.Second)
			}
			return nil
		}}
		if err := poller(t, s, &view{}, func(o *ironic.PollerOptions) { o.AtOnce = 0 }).PollOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := map[string]time.Duration{
			"newest": 0, "deleting": 0, "cleaning": 1, "clean wait": 2, "clean hold": 3, "clean failed": 4, "error": 5,
			"inspecting": 0, "inspect wait": 1, "inspect failed": 2, "deploying": 0, "wait call-back": 1, "deploy hold": 2, "deploy failed": 3,
			"rescuing": 0, "rescue wait": 1, "rescue failed": 2, "unrescuing": 3, "unrescue failed": 4,
			"servicing": 3, "service wait": 4, "service hold": 5, "service failed": 6,
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("after how many seconds each list is read (-want +got):\n%s", diff)
		}
	})
}
