package breaker_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
)

// history is a random one of a Set with two scopes, and what must be true of it.
type history struct {
	*rapid.T
	cfg    breaker.Config
	set    *breaker.Set
	now    time.Time
	latest time.Time // that was given
	states map[breaker.Scope]breaker.State
	since  map[breaker.Scope]time.Time // the state, as events tell
	byHand map[breaker.Scope]bool      // it was opened
	starts map[breaker.Scope][]time.Time
	out    []job
}

// job is a permit that is out.
type job struct {
	*breaker.Permit
	scopes []breaker.Scope
	host   string
}

var bothScopes = []breaker.Scope{{Kind: "ironic"}, {Kind: "group", Name: "a"}}

func begin(t *rapid.T) *history {
	h := &history{
		T: t, now: start, latest: start, states: map[breaker.Scope]breaker.State{}, since: map[breaker.Scope]time.Time{},
		byHand: map[breaker.Scope]bool{}, starts: map[breaker.Scope][]time.Time{},
		cfg: breaker.Config{
			Mode:             rapid.SampledFrom([]breaker.Mode{breaker.Consecutive, breaker.Window}).Draw(t, "mode"),
			FailureThreshold: rapid.IntRange(2, 4).Draw(t, "threshold"), FailureWindow: 10 * time.Minute, RecoveryTimeout: 5 * time.Minute,
			HalfOpenMaxRequests: rapid.IntRange(1, 3).Draw(t, "probes"), RateLimitPerMinute: rapid.IntRange(0, 4).Draw(t, "rate"),
			MaxConcurrent: rapid.IntRange(1, 6).Draw(t, "concurrent"),
		},
	}
	if rapid.Bool().Draw(t, "ratio") {
		h.cfg.RatioPercent, h.cfg.RatioMinimum = 50, 5
	}
	var err error
	if h.set, err = breaker.New(h.cfg, nil, h.changed); err != nil {
		t.Fatal(err)
	}
	return h
}

// changed checks that each change of state is one of the five that there are, and comes at its time.
func (h *history) changed(e breaker.Event) {
	if was := h.states[e.Scope]; was != e.From && (was != "" || e.From != breaker.Closed) {
		h.Fatalf("%s: %s>%s, but it was %s", e.Scope, e.From, e.To, was)
	}
	open := h.since[e.Scope]
	switch fmt.Sprintf("%s>%s", e.From, e.To) {
	case "CLOSED>OPEN":
		if !e.ByHand && len(e.Causes) == 0 {
			h.Fatalf("%s opened for no cause", e.Scope)
		}
	case "HALF_OPEN>OPEN", "HALF_OPEN>CLOSED":
	case "OPEN>CLOSED":
		if !e.ByHand {
			h.Fatalf("%s closed from OPEN without a probe", e.Scope)
		}
	case "OPEN>HALF_OPEN":
		if long := e.At.Sub(open); !h.byHand[e.Scope] && long != h.cfg.RecoveryTimeout {
			h.Fatalf("%s was OPEN for %v", e.Scope, long)
		}
	default:
		h.Fatalf("%s: %s>%s", e.Scope, e.From, e.To)
	}
	h.states[e.Scope], h.since[e.Scope] = e.To, e.At
	if e.To == breaker.Open {
		h.byHand[e.Scope] = e.ByHand
	}
}

func (h *history) passes() {
	h.now = h.now.Add(time.Duration(rapid.IntRange(1, 200).Draw(h.T, "seconds")) * time.Second)
	if rapid.IntRange(0, 20).Draw(h.T, "back") == 0 {
		h.set.Tick(h.now) // so that it knows the later time
		h.latest = latest(h.latest, h.now)
		h.now = h.now.Add(-time.Minute)
	}
	h.latest = latest(h.latest, h.now)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (h *history) show() string {
	return fmt.Sprintf("%+v %+v", h.set.Status(h.now, bothScopes[0]), h.set.Status(h.now, bothScopes[1]))
}

func (h *history) asks() {
	scopes := bothScopes[:rapid.IntRange(1, 2).Draw(h.T, "scopes")]
	foreseen, before := h.set.Check(h.now, scopes...), h.show()
	p, err := h.set.CanProvision(h.now, scopes...)
	if fmt.Sprint(foreseen) != fmt.Sprint(err) {
		h.Fatalf("Check says %v, CanProvision %v", foreseen, err)
	}
	var open *breaker.CircuitBreakerError
	var rate *breaker.RateLimitError
	switch {
	case errors.As(err, &open) && open.TimeToWait <= 0 || errors.As(err, &rate) && rate.TimeToReset <= 0:
		h.Fatalf("nothing to wait for: %v", err)
	case err != nil && h.show() != before:
		h.Fatalf("a refused start has changed something:\n%s\n%s", before, h.show())
	case err != nil:
		return
	}
	for _, scope := range scopes {
		if h.set.Status(h.now, scope).State == breaker.Open {
			h.Fatalf("%s is OPEN and let one start", scope)
		}
		h.starts[scope] = append(h.starts[scope], h.latest)
	}
	h.out = append(h.out, job{p, scopes, fmt.Sprint("host", rapid.IntRange(0, 5).Draw(h.T, "host"))})
}

func (h *history) ends() {
	if len(h.out) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.out)-1).Draw(h.T, "job")
	j := h.out[i]
	h.out = slices.Delete(h.out, i, i+1)
	kind := rapid.SampledFrom([]string{"deploy", "clean"}).Draw(h.T, "kind")
	switch rapid.IntRange(0, 3).Draw(h.T, "end") {
	case 0:
		h.set.Cancel(h.now, j.Permit)
	case 1:
		h.set.RecordSuccess(h.now, j.Permit, j.host, kind, j.scopes...)
	default:
		h.set.RecordFailure(h.now, j.Permit, j.host, kind, errors.New("boom"), j.scopes...)
	}
}

func (h *history) byOperator() {
	scope := rapid.SampledFrom(bothScopes).Draw(h.T, "scope")
	if rapid.Bool().Draw(h.T, "trip") {
		if h.set.Trip(h.now, scope, time.Duration(rapid.IntRange(0, 10).Draw(h.T, "for"))*time.Minute) {
			h.byHand[scope] = true
		}
	} else {
		h.set.Reset(h.now, scope)
	}
}

// check is what must be true at every time.
func (h *history) check() {
	before := h.show()
	for _, scope := range bothScopes {
		st := h.set.Status(h.now, scope)
		out, minute := 0, 0
		for _, j := range h.out {
			if slices.Contains(j.scopes, scope) {
				out++
			}
		}
		for _, at := range h.starts[scope] {
			if h.latest.Sub(at) < time.Minute {
				minute++
			}
		}
		switch {
		case st.ConcurrentInstances != out || out > h.cfg.MaxConcurrent:
			h.Fatalf("%s: %d permits are out, it says %d of %d", scope, out, st.ConcurrentInstances, h.cfg.MaxConcurrent)
		case st.Probes > h.cfg.HalfOpenMaxRequests || st.Probes > 0 && st.State != breaker.HalfOpen:
			h.Fatalf("%s: %d probes run in %s", scope, st.Probes, st.State)
		case st.TimeToRecovery < 0 || (st.TimeToRecovery > 0) != (st.State == breaker.Open):
			h.Fatalf("%s: %s, recovers in %v", scope, st.State, st.TimeToRecovery)
		case st.State == breaker.Closed && st.RecentFailures >= h.cfg.FailureThreshold:
			h.Fatalf("%s: CLOSED with %d failures", scope, st.RecentFailures)
		case st.RateLimit > 0 && (minute > st.RateLimit || st.InstancesThisMinute != minute):
			h.Fatalf("%s: %d starts in a minute, it says %d", scope, minute, st.InstancesThisMinute)
		}
	}
	if after := h.show(); after != before {
		h.Fatalf("looking has changed it:\n%s\n%s", before, after)
	}
}

func TestHistoriesKeepTheRules(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := begin(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"time passes": func(*rapid.T) { h.passes() },
			"asks":        func(*rapid.T) { h.asks() },
			"asks too":    func(*rapid.T) { h.asks() },
			"ends":        func(*rapid.T) { h.ends() },
			"by hand":     func(*rapid.T) { h.byOperator() },
			"tick":        func(*rapid.T) { h.set.Tick(h.now) },
			"":            func(*rapid.T) { h.check() },
		})
	})
}

// One host that fails for ever opens nothing, whatever the others do meanwhile.
func TestNoHostAloneOpensAScope(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := begin(rt)
		for range rapid.IntRange(1, 60).Draw(rt, "works") {
			h.passes()
			kind := rapid.SampledFrom([]string{"deploy", "clean"}).Draw(rt, "kind")
			if rapid.Bool().Draw(rt, "bad") {
				h.set.RecordFailure(h.now, nil, "bad", kind, nil, bothScopes...)
			} else {
				h.set.RecordSuccess(h.now, nil, "good", kind, bothScopes...)
			}
		}
		if len(h.states) > 0 {
			rt.Fatalf("a scope has opened: %v", h.states)
		}
	})
}

// A scope opens exactly at the outcome at which a plain count of all that has happened says so.
func TestItOpensExactlyWhenTheCountSaysSo(t *testing.T) {
	type end struct {
		at         time.Time
		host, kind string
		failed     bool
	}
	rapid.Check(t, func(rt *rapid.T) {
		h := begin(rt)
		var all []end
		counts := func(i int) bool { // the host has succeeded since it counted last, at the work that failed then
			at := -1
			for j := range i {
				switch x := all[j]; {
				case x.host != all[i].host:
				case x.failed && at < 0:
					at = j
				case !x.failed && at >= 0 && x.kind == all[at].kind:
					at = -1
				}
			}
			return at < 0
		}
		for range 60 {
			h.now = h.now.Add(time.Duration(rapid.IntRange(0, 240).Draw(rt, "seconds")) * time.Second)
			e := end{
				h.now, fmt.Sprint("host", rapid.IntRange(0, 9).Draw(rt, "host")), rapid.SampledFrom([]string{"deploy", "clean"}).Draw(rt, "kind"),
				rapid.IntRange(0, 2).Draw(rt, "fails") == 0,
			}
			all = append(all, e)
			run, failed, of := 0, 0, 0
			for i, x := range all {
				if h.now.Sub(x.at) >= h.cfg.FailureWindow || x.failed && !counts(i) {
					continue
				}
				of++
				if !x.failed {
					continue
				}
				failed++
				cleared := h.cfg.Mode != breaker.Window && slices.ContainsFunc(all[i:], func(y end) bool { return !y.failed && y.kind == x.kind })
				if !cleared {
					run++
				}
			}
			counted := !e.failed || counts(len(all)-1)
			want := run >= h.cfg.FailureThreshold || counted && h.cfg.RatioPercent > 0 && of >= h.cfg.RatioMinimum && failed*2 >= of
			if e.failed {
				h.set.RecordFailure(h.now, nil, e.host, e.kind, nil, bothScopes[0])
			} else {
				h.set.RecordSuccess(h.now, nil, e.host, e.kind, bothScopes[0])
			}
			if got := h.set.Status(h.now, bothScopes[0]).State == breaker.Open; got != want {
				rt.Fatalf("OPEN is %v after %d outcomes, want %v: a run of %d, %d of %d", got, len(all), want, run, failed, of)
			}
			if want {
				return
			}
		}
	})
}
