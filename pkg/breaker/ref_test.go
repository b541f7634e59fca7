package breaker

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"
)

// The reference keeps everything that ever happened and works out each answer from
// that, slowly and on its own: it shares no code with the package but the words.

// refOutcome is one that a CLOSED scope was given.
type refOutcome struct {
	at     time.Time
	work   Work
	failed bool
	cause  string
}

// refPermit is what one scope knows of a permit.
type refPermit struct {
	begun time.Time
	trips int  // how often the scope had opened when it began
	probe bool // still
	mute  bool // its outcome changes nothing
	ended bool
}

// ref is a scope.
type ref struct {
	scope   Scope
	cfg     Config
	clock   time.Time
	lastUse time.Time

	state    State
	changed  time.Time
	openedAt time.Time
	openFor  time.Duration
	trips    int
	hand     bool
	why      string
	causes   []Cause

	outcomes []refOutcome // since the circuit was closed last
	starts   []time.Time  // of all asks ever allowed
	permits  []*refPermit // of all times
	shown    []refOutcome // what RecentFailures shows while it is not CLOSED
	onChange func(Event)
}

func newRef(scope Scope, cfg Config, now time.Time, onChange func(Event)) *ref {
	return &ref{scope: scope, cfg: cfg, clock: now, lastUse: now, state: Closed, onChange: onChange}
}

// tick is what time alone does.
func (r *ref) tick(now time.Time) {
	if now.After(r.clock) {
		r.clock = now
	}
	if r.state == Open && !r.clock.Before(r.openedAt.Add(r.openFor)) {
		r.become(HalfOpen, r.openedAt.Add(r.openFor), 0, false)
	}
	for _, p := range r.permits {
		if p.probe && r.age(p.begun) >= r.cfg.ProbeLifetime {
			p.probe, p.mute = false, true
		}
	}
}

func (r *ref) age(t time.Time) time.Duration { return r.clock.Sub(t) }

func (r *ref) become(state State, at time.Time, failures int, hand bool) {
	if state != r.state {
		r.onChange(Event{Scope: r.scope, From: r.state, To: state, At: at, Failures: failures, Causes: r.causes, ByHand: hand})
	}
	r.state, r.changed = state, at
}

func count[T any](list []T, f func(T) bool) (n int) {
	for _, v := range list {
		if f(v) {
			n++
		}
	}
	return n
}

func (r *ref) running() int { return count(r.permits, func(p *refPermit) bool { return !p.ended }) }
func (r *ref) probes() int {
	return count(r.permits, func(p *refPermit) bool { return !p.ended && p.probe })
}
func (r *ref) started() int {
	return count(r.starts, func(t time.Time) bool { return r.age(t) < time.Minute })
}

// refuses is the refusal in one of three rounds.
func (r *ref) refuses(round int) error {
	switch {
	case round == 0 && r.state == Open:
		return &CircuitBreakerError{Scope: r.scope, State: Open, Message: r.why, TimeToWait: r.openedAt.Add(r.openFor).Sub(r.clock)}
	case round == 0 && r.state == HalfOpen && r.probes() == r.cfg.HalfOpenMaxRequests:
		wait := r.cfg.ProbeLifetime
		for _, p := range r.permits {
			if p.probe && !p.ended {
				wait = min(wait, r.cfg.ProbeLifetime-r.age(p.begun))
			}
		}
		return &CircuitBreakerError{
			Scope: r.scope, State: HalfOpen, TimeToWait: wait,
			Message: fmt.Sprintf("%d of %d probes are running; it opened after %s", r.probes(), r.cfg.HalfOpenMaxRequests, r.why),
		}
	case round == 1 && r.cfg.RateLimitPerMinute > 0 && r.started() == r.cfg.RateLimitPerMinute:
		wait := time.Minute
		for _, t := range r.starts {
			if r.age(t) < time.Minute {
				wait = min(wait, time.Minute-r.age(t))
			}
		}
		return &RateLimitError{Scope: r.scope, Limit: r.cfg.RateLimitPerMinute, Current: r.started(), TimeToReset: wait}
	case round == 2 && r.running() >= r.cfg.MaxConcurrent:
		return &ConcurrencyLimitError{Scope: r.scope, Limit: r.cfg.MaxConcurrent, Current: r.running()}
	}
	return nil
}

func (r *ref) begin(asked bool) *refPermit {
	p := &refPermit{begun: r.clock, trips: r.trips}
	p.probe = asked && r.state == HalfOpen
	p.mute = !asked && r.state != Closed
	if asked {
		r.starts = append(r.starts, r.clock)
	}
	r.permits = append(r.permits, p)
	return p
}

func (r *ref) end(p *refPermit, o *refOutcome) {
	p.ended = true
	if o == nil || p.mute || p.trips != r.trips {
		return
	}
	o.at = r.clock
	switch {
	case r.state == Closed:
		r.count(*o)
	case r.state == HalfOpen && p.probe && o.failed:
		r.shown = []refOutcome{*o}
		r.trip(r.cfg.RecoveryTimeout, r.shown, "a probe that failed", false)
	case r.state == HalfOpen && p.probe:
		r.close(false)
	}
}

func (r *ref) close(hand bool) {
	r.outcomes, r.shown, r.causes, r.why, r.hand = nil, nil, nil, "", false
	r.noProbes()
	r.become(Closed, r.clock, 0, hand)
}

func (r *ref) noProbes() {
	for _, p := range r.permits {
		p.probe = false
	}
}

func (r *ref) trip(d time.Duration, failures []refOutcome, why string, hand bool) {
	r.trips++
	r.noProbes()
	r.openedAt, r.openFor, r.hand = r.clock, d, hand
	r.causes, r.why = refCauses(failures), why
	for i, c := range r.causes {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		if i == 3 {
			r.why += ", …"
			break
		}
		r.why += fmt.Sprintf("%s%s (%d)", sep, c.Text, c.Count)
	}
	r.become(Open, r.clock, len(failures), hand)
}

// count is an outcome in CLOSED.
func (r *ref) count(o refOutcome) {
	o.at = r.clock
	r.outcomes = append(r.outcomes, o)
	counted := r.counted()
	run := r.young(r.run(counted))
	if len(run) >= r.cfg.FailureThreshold {
		r.shown = run
		r.trip(r.cfg.RecoveryTimeout, run, fmt.Sprintf("%d failures within %v", len(run), r.cfg.FailureWindow), false)
		return
	}
	if r.cfg.RatioMinimum == 0 || o.failed && !counted[len(counted)-1] {
		return
	}
	var failed []refOutcome
	all := 0
	for i, t := range r.outcomes {
		if t.work.Kind != o.work.Kind || r.age(t.at) >= r.cfg.FailureWindow || t.failed && !counted[i] {
			continue
		}
		all++
		if t.failed {
			failed = append(failed, t)
		}
	}
	if all >= max(r.cfg.RatioMinimum, r.running()) && len(failed) > 1 && 100*len(failed) >= r.cfg.RatioPercent*all {
		r.shown = run
		why := fmt.Sprintf("%d failures of %d outcomes within %v", len(failed), all, r.cfg.FailureWindow)
		r.trip(r.cfg.RecoveryTimeout, failed, why, false)
	}
}

// counted says of each outcome whether, as a failure, it counts: its host had been
// quiet for a window.
func (r *ref) counted() []bool {
	counted := make([]bool, len(r.outcomes))
	for i, o := range r.outcomes {
		counted[i] = o.failed
		for _, before := range r.outcomes[:i] {
			if o.work.Host != "" && before.failed && before.work.Host == o.work.Host && o.at.Sub(before.at) < r.cfg.FailureWindow {
				counted[i] = false
			}
		}
	}
	return counted
}

// run is the failures that count and that no success has taken away.
func (r *ref) run(counted []bool) (run []refOutcome) {
	for i, o := range r.outcomes {
		taken := r.cfg.Mode == Consecutive && slices.ContainsFunc(r.outcomes[i:], func(later refOutcome) bool {
			return !later.failed && later.work.Kind == o.work.Kind
		})
		if counted[i] && !taken {
			run = append(run, o)
		}
	}
	return run
}

func (r *ref) young(list []refOutcome) (young []refOutcome) {
	for _, o := range list {
		if r.age(o.at) < r.cfg.FailureWindow {
			young = append(young, o)
		}
	}
	return young
}

// idle is CB-25.
func (r *ref) idle() bool {
	failed := count(r.outcomes, func(o refOutcome) bool { return o.failed && r.age(o.at) < r.cfg.FailureWindow })
	return r.state == Closed && r.running() == 0 && failed == 0 && r.age(r.lastUse) >= 2*time.Hour
}

func (r *ref) status() Status {
	st := Status{
		Scope: r.scope, Mode: r.cfg.Mode, State: r.state, FailureThreshold: r.cfg.FailureThreshold,
		RateLimit: r.cfg.RateLimitPerMinute, MaxConcurrent: r.cfg.MaxConcurrent, ProbeLimit: r.cfg.HalfOpenMaxRequests,
		ConcurrentInstances: r.running(), Probes: r.probes(), LastStateChange: r.changed, Tripped: r.hand, Causes: r.causes,
		RecentFailures: len(r.young(r.shown)),
	}
	if r.cfg.RateLimitPerMinute > 0 {
		st.InstancesThisMinute = r.started()
	}
	switch r.state {
	case Open:
		st.TimeToRecovery = r.openedAt.Add(r.openFor).Sub(r.clock)
	case Closed:
		run := r.young(r.run(r.counted()))
		st.RecentFailures, st.Causes = len(run), refCauses(run)
	}
	return st
}

func refCauses(failures []refOutcome) (causes []Cause) {
	hosts, counts := map[string][]string{}, map[string]int{}
	for _, f := range failures {
		counts[f.cause]++
		if h := f.work.Host; h != "" && !slices.Contains(hosts[f.cause], h) {
			hosts[f.cause] = append(hosts[f.cause], h)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		h := hosts[text]
		causes = append(causes, Cause{Text: text, Count: counts[text], Hosts: h[:min(5, len(h))]})
	}
	sort.SliceStable(causes, func(i, j int) bool { return causes[i].Count > causes[j].Count })
	return causes
}
