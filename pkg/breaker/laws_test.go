package breaker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// unit divides all times of the random histories, so that ages hit limits exactly.
const unit = 10 * time.Second

var (
	lawScopes = []Scope{{Kind: "ironic"}, {"group", "a"}, {"group", "b"}}
	lawHosts  = []string{"", "h1", "h2", "h3", "h4"}
	lawKinds  = []string{"deploy", "clean"}
	lawErrors = []error{nil, errors.New("dhcp"), errors.New("image"), errors.New("power"), errors.New("agent")}
)

// world is a Set, its reference, and everything that was handed out.
type world struct {
	set    *Set
	cfg    map[string]Config // by kind of scope
	refs   map[Scope]*ref
	now    time.Time
	out    []*worldPermit
	events []Event
}

type worldPermit struct {
	p     *Permit
	refs  []*ref
	parts []*refPermit
	done  bool
}

func drawConfig(t *rapid.T) Config {
	units := func(low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, "units")) * unit
	}
	cfg := Config{
		Mode:                rapid.SampledFrom([]Mode{Consecutive, Window}).Draw(t, "mode"),
		FailureThreshold:    rapid.IntRange(1, 4).Draw(t, "threshold"),
		FailureWindow:       units(1, 12),
		RecoveryTimeout:     units(1, 6),
		HalfOpenMaxRequests: rapid.IntRange(1, 3).Draw(t, "probes"),
		ProbeLifetime:       units(1, 8),
		RateLimitPerMinute:  rapid.IntRange(0, 4).Draw(t, "rate"),
		MaxConcurrent:       rapid.IntRange(1, 6).Draw(t, "concurrent"),
	}
	if rapid.Bool().Draw(t, "ratio") {
		cfg.FailureThreshold += 2
		cfg.RatioPercent, cfg.RatioMinimum = rapid.SampledFrom([]int{1, 50, 67}).Draw(t, "percent"), rapid.IntRange(2, 5).Draw(t, "minimum")
	}
	return cfg
}

func newWorld(t *rapid.T) *world {
	w := &world{now: start, refs: map[Scope]*ref{}, cfg: map[string]Config{"ironic": drawConfig(t), "group": drawConfig(t)}}
	base := w.cfg["ironic"]
	set, err := New(&base, map[string]Config{"group": w.cfg["group"]})
	if err != nil {
		t.Fatal(err)
	}
	w.set = set
	return w
}

// pass moves the clock, sometimes back.
func (w *world) pass(t *rapid.T) {
	step := rapid.SampledFrom([]time.Duration{0, 0, 0, 1, unit - 1, unit, unit, 2 * unit, 5 * unit, -unit}).Draw(t, "step")
	w.now = w.now.Add(step)
}

// some draws scopes, perhaps none and perhaps one twice, and their references without
// repeats. Those that do not exist are made if create is set, else left out.
func (w *world) some(t *rapid.T, create bool) ([]Scope, []*ref) {
	w.pass(t)
	scopes := rapid.SliceOfN(rapid.SampledFrom(lawScopes), 0, 4).Draw(t, "scopes")
	var refs []*ref
	for _, scope := range scopes {
		r := w.refs[scope]
		if r == nil && create {
			r = newRef(scope, w.cfg[scope.Kind], w.now, func(e Event) { w.events = append(w.events, e) })
			w.refs[scope] = r
		}
		if r != nil && !slices.Contains(refs, r) {
			refs = append(refs, r)
		}
	}
	return scopes, refs
}

func (w *world) tick(refs []*ref) {
	for _, r := range refs {
		r.tick(w.now)
	}
}

func (w *world) outcome(t *rapid.T, failed bool) (work Work, o refOutcome, err error) {
	work = Work{Host: rapid.SampledFrom(lawHosts).Draw(t, "host"), Kind: rapid.SampledFrom(lawKinds).Draw(t, "kind")}
	o = refOutcome{work: work, failed: failed}
	if !failed {
		return work, o, nil
	}
	err = rapid.SampledFrom(lawErrors).Draw(t, "error")
	if o.cause = "unknown error"; err != nil {
		o.cause = err.Error()
	}
	return work, o, err
}

func refusedBy(refs []*ref) error {
	for round := range 3 {
		for _, r := range refs {
			if err := r.refuses(round); err != nil {
				return err
			}
		}
	}
	return nil
}

func same(t *rapid.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (w *world) ask(t *rapid.T) {
	scopes, refs := w.some(t, true)
	w.tick(refs)
	want := refusedBy(refs)
	same(t, "check", want, w.set.Check(w.now, scopes...))
	p, err := w.set.Ask(w.now, scopes...)
	same(t, "ask", want, err)
	for _, r := range refs {
		r.lastUse = r.clock
	}
	if want == nil {
		w.hold(p, refs, true)
	}
}

func (w *world) take(t *rapid.T) {
	scopes, refs := w.some(t, true)
	w.tick(refs)
	for _, r := range refs {
		r.lastUse = r.clock
	}
	w.hold(w.set.Take(w.now, scopes...), refs, false)
}

func (w *world) hold(p *Permit, refs []*ref, asked bool) {
	wp := &worldPermit{p: p, refs: refs}
	for _, r := range refs {
		wp.parts = append(wp.parts, r.begin(asked))
	}
	w.out = append(w.out, wp)
}

// settle ends a permit, perhaps one that was ended before.
func (w *world) settle(t *rapid.T) {
	if len(w.out) == 0 {
		t.Skip("no permit")
	}
	w.pass(t)
	wp := w.out[max(0, len(w.out)-1-rapid.IntRange(0, 8).Draw(t, "permit"))]
	var o *refOutcome
	var err error
	switch rapid.SampledFrom([]string{"succeed", "fail", "fail", "cancel"}).Draw(t, "end") {
	case "succeed":
		work, ro, _ := w.outcome(t, false)
		o, err = &ro, wp.p.Succeed(w.now, work)
	case "fail":
		work, ro, cause := w.outcome(t, true)
		o, err = &ro, wp.p.Fail(w.now, work, cause)
	default:
		err = wp.p.Cancel(w.now)
	}
	if wp.done {
		if !errors.Is(err, ErrSettled) {
			t.Fatalf("settled twice: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	wp.done = true
	for i, r := range wp.refs {
		r.tick(w.now)
		r.lastUse = r.clock
		r.end(wp.parts[i], o)
	}
}

func (w *world) record(t *rapid.T) {
	scopes, refs := w.some(t, true)
	failed := rapid.IntRange(0, 2).Draw(t, "failed") > 0
	work, o, err := w.outcome(t, failed)
	if failed {
		w.set.RecordForeign(w.now, work, err, scopes...)
	} else {
		w.set.RecordSuccess(w.now, work, scopes...)
	}
	w.tick(refs)
	for _, r := range refs {
		r.lastUse = r.clock
		if r.state == Closed {
			r.count(o)
		}
	}
}

func (w *world) byHand(t *rapid.T) {
	scopes, refs := w.some(t, false)
	if len(scopes) == 0 || len(refs) == 0 || refs[0].scope != scopes[0] {
		t.Skip("no scope")
	}
	r := refs[0]
	r.tick(w.now)
	if rapid.Bool().Draw(t, "reset") {
		// What a success took away altogether is nothing to reset.
		failures := len(r.young(r.run(r.counted()))) > 0 || slices.ContainsFunc(r.young(r.outcomes), func(o refOutcome) bool {
			return o.failed && (o.work.Host != "" || r.cfg.RatioMinimum > 0)
		})
		same(t, "reset", failures || r.state != Closed, w.set.Reset(w.now, r.scope))
		if r.state != Closed {
			r.close(true)
			r.lastUse = r.clock
		} else if failures {
			r.outcomes, r.lastUse = nil, r.clock
		}
		return
	}
	d := time.Duration(rapid.IntRange(0, 3).Draw(t, "for")) * unit
	openFor := d
	if d == 0 {
		openFor = r.cfg.RecoveryTimeout
	}
	change := r.state != Open || !r.hand || r.openFor != openFor
	same(t, "trip", change, w.set.Trip(w.now, r.scope, d))
	if !change {
		return
	}
	if r.state == Closed {
		r.shown = r.young(r.run(r.counted()))
	}
	r.lastUse = r.clock
	r.trip(openFor, nil, "tripped by hand", true)
}

func (w *world) clean(t *rapid.T) {
	w.now = w.now.Add(rapid.SampledFrom([]time.Duration{0, time.Hour, 3 * time.Hour}).Draw(t, "idle"))
	w.set.Clean(w.now)
	for _, scope := range lawScopes {
		if r := w.refs[scope]; r != nil {
			r.tick(w.now)
			if r.idle() {
				delete(w.refs, scope)
			}
		}
	}
	w.compare(t)
}

// compare holds all scopes and events against the reference.
func (w *world) compare(t *rapid.T) {
	known := []Status{}
	for _, scope := range []Scope{lawScopes[1], lawScopes[2], lawScopes[0]} {
		if r := w.refs[scope]; r != nil {
			r.tick(w.now)
			known = append(known, r.status())
		}
	}
	same(t, "all", known, w.set.All(w.now))
	w.sameEvents(t)
	var open, ticked []Scope
	for _, st := range known {
		if st.State != Closed {
			open = append(open, st.Scope)
		}
	}
	for _, c := range w.set.notClosed {
		ticked = append(ticked, c.scope)
	}
	slices.SortFunc(ticked, func(a, b Scope) int { return strings.Compare(a.String(), b.String()) })
	same(t, "scopes that are not CLOSED", open, ticked)
}

// sameEvents holds the events since the last call against the reference.
func (w *world) sameEvents(t *rapid.T) {
	byScope := func(a, b Event) int { return slices.Index(lawScopes, a.Scope) - slices.Index(lawScopes, b.Scope) }
	got := w.set.Events()
	slices.SortStableFunc(got, byScope) // scopes that one call is about may change in any order
	slices.SortStableFunc(w.events, byScope)
	same(t, "events", w.events, got)
	w.events = nil
}

// tickAll is a Tick, after which nothing that only reads causes an Event at that time.
func (w *world) tickAll(t *rapid.T) {
	w.pass(t)
	w.set.Tick(w.now)
	for _, r := range w.refs {
		if r.state != Closed {
			r.tick(w.now)
		}
	}
	w.sameEvents(t)
	scopes := rapid.SliceOfN(rapid.SampledFrom(lawScopes), 0, 4).Draw(t, "scopes")
	_ = w.set.Check(w.now, scopes...)
	for _, scope := range scopes {
		if r := w.refs[scope]; r != nil {
			r.tick(w.now)
			same(t, "status", r.status(), w.set.Status(w.now, scope))
		}
	}
	same(t, "events after a Tick", []Event(nil), w.set.Events())
	w.compare(t)
}

// TestLaws runs random histories against the reference. The laws are in it: no more
// probes than N run, refused asks change nothing, no more than the rate start in any
// minute, nothing is early, and every wait is more than 0.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"ask": w.ask, "ask more": w.ask, "take": w.take, "settle": w.settle, "settle more": w.settle,
			"record": w.record, "record more": w.record, "by hand": w.byHand, "clean": w.clean,
			"compare": w.compare, "tick": w.tickAll,
			"status": func(t *rapid.T) {
				_, refs := w.some(t, false)
				w.tick(refs)
				for _, r := range refs {
					same(t, "status", r.status(), w.set.Status(w.now, r.scope))
				}
			},
		})
		w.compare(t)
	})
}

// TestLawOneHost: a scope never opens from CLOSED through one host alone, whatever
// else goes well or badly.
func TestLawOneHost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		cfg.FailureThreshold = max(cfg.FailureThreshold, 2)
		set, err := New(&cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		now := start
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "step")) * unit)
			kind := rapid.SampledFrom(lawKinds).Draw(t, "kind")
			if rapid.Bool().Draw(t, "good") {
				set.RecordSuccess(now, Work{Host: fmt.Sprint("good", i), Kind: kind}, rack)
			} else {
				set.RecordForeign(now, Work{Host: "bad", Kind: kind}, errBoom, rack)
			}
			if st := set.Status(now, rack); st.State != Closed {
				t.Fatalf("%s through one host: %+v", st.State, st)
			}
		}
	})
}
