package breaker_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/breaker"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// desk carries out steps that are written as words, and answers each with one word:
//
//	start NAME SCOPE…    ask for a permit: ok, or the error's kind, state and wait
//	take NAME SCOPE…     take over work that runs
//	good NAME KIND       the work of a permit went well; NAME "-" for work without a permit
//	bad NAME KIND [TEXT] it has failed; the host has the name of the permit
//	cancel NAME          it has ended without an outcome
//	trip SCOPE D, reset SCOPE, tick, look SCOPE
//	reload D             another recovery time
type desk struct {
	t       testing.TB
	cfg     breaker.Config
	set     *breaker.Set
	now     time.Time
	permits map[string]*breaker.Permit
	scopes  map[string][]breaker.Scope
	events  []string
}

func newDesk(t testing.TB, cfg breaker.Config) *desk {
	t.Helper()
	d := &desk{t: t, cfg: cfg, now: start, permits: map[string]*breaker.Permit{}, scopes: map[string][]breaker.Scope{}}
	var err error
	if d.set, err = breaker.New(cfg, nil, func(e breaker.Event) {
		by := map[bool]string{true: " by hand"}[e.ByHand]
		d.events = append(d.events, fmt.Sprintf("%s %s>%s@%v%s", e.Scope, e.From, e.To, e.At.Sub(start), by))
	}); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) do(step string) string {
	words := strings.Fields(step)
	verb, name := words[0], ""
	if len(words) > 1 {
		name = words[1]
	}
	switch verb {
	case "start", "take":
		d.scopes[name] = parse(d.t, words[2:])
		if verb == "take" {
			d.permits[name] = d.set.Take(d.now, d.scopes[name]...)
			return "ok"
		}
		foreseen := word(d.set.Check(d.now, d.scopes[name]...))
		p, err := d.set.CanProvision(d.now, d.scopes[name]...)
		if word(err) != foreseen {
			d.t.Errorf("%s: Check says %s, CanProvision %s", step, foreseen, word(err))
		}
		if err == nil {
			d.permits[name] = p
		}
		return word(err)
	case "good":
		d.set.RecordSuccess(d.now, d.permits[name], name, words[2], d.of(name)...)
	case "bad":
		var err error
		if len(words) > 3 {
			err = errors.New(words[3])
		}
		d.set.RecordFailure(d.now, d.permits[name], name, words[2], err, d.of(name)...)
	case "cancel":
		d.set.Cancel(d.now, d.permits[name])
	case "trip":
		long, _ := time.ParseDuration(words[2])
		return fmt.Sprint(d.set.Trip(d.now, parse(d.t, words[1:2])[0], long))
	case "reset":
		return fmt.Sprint(d.set.Reset(d.now, parse(d.t, words[1:2])[0]))
	case "tick":
		d.set.Tick(d.now)
	case "reload":
		d.cfg.RecoveryTimeout, _ = time.ParseDuration(name)
		if err := d.set.Configure(d.cfg, nil); err != nil {
			d.t.Fatal(err)
		}
	case "look":
		st := d.set.Status(d.now, parse(d.t, words[1:2])[0])
		return fmt.Sprintf("%s/%d/%d/%v", st.State, st.RecentFailures, st.ConcurrentInstances, st.TimeToRecovery)
	default:
		d.t.Fatalf("no step %q", step)
	}
	return "ok"
}

// of are the scopes of a permit, or of work without one.
func (d *desk) of(name string) []breaker.Scope {
	if scopes, ok := d.scopes[name]; ok {
		return scopes
	}
	return []breaker.Scope{{Kind: "ironic"}}
}

func parse(t testing.TB, words []string) []breaker.Scope {
	t.Helper()
	scopes := make([]breaker.Scope, 0, len(words))
	for _, w := range words {
		s, err := breaker.ParseScope(w)
		if err != nil {
			t.Fatal(err)
		}
		scopes = append(scopes, s)
	}
	return scopes
}

// word is an error in one word.
func word(err error) string {
	var open *breaker.CircuitBreakerError
	var rate *breaker.RateLimitError
	var many *breaker.ConcurrencyLimitError
	switch {
	case errors.As(err, &open):
		return fmt.Sprintf("%s:%s:%v", open.Scope, open.State, open.TimeToWait)
	case errors.As(err, &rate):
		return fmt.Sprintf("rate:%d/%d:%v", rate.Current, rate.Limit, rate.TimeToReset)
	case errors.As(err, &many):
		return fmt.Sprintf("many:%d/%d", many.Current, many.Limit)
	}
	return "ok"
}

// roomy is the default without rate and concurrency in the way.
func roomy(change func(*breaker.Config)) breaker.Config {
	cfg := breaker.DefaultConfig()
	cfg.RateLimitPerMinute, cfg.MaxConcurrent = 0, 1000
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// Each line of a script is "[+D ]step[ -> answer]".
func TestStates(t *testing.T) {
	ratio := func(c *breaker.Config) { c.FailureThreshold, c.RatioPercent, c.RatioMinimum = 100, 50, 4 }
	window := func(c *breaker.Config) { c.Mode = breaker.Window }
	short := func(c *breaker.Config) { c.RecoveryTimeout = time.Minute }
	limits := func(c *breaker.Config) { c.RateLimitPerMinute, c.MaxConcurrent = 2, 3 }
	three := "bad a deploy; bad b deploy; bad c deploy"
	for _, of := range []struct {
		name   string
		change func(*breaker.Config)
		script string
		events string
	}{
		{"the third failure in a row opens at once", nil,
			"start x ironic -> ok; bad a deploy; bad b deploy; look ironic -> CLOSED/2/1/0s; bad c deploy; look ironic -> OPEN/3/1/15m0s",
			"ironic CLOSED>OPEN@0s"},
		{"a failure as old as the window does not count", nil,
			"bad a deploy; +1m bad b deploy; +4m bad c deploy; look ironic -> CLOSED/2/0/0s; +59s bad d deploy; look ironic -> OPEN/3/0/15m0s",
			"ironic CLOSED>OPEN@5m59s"},
		{"a success clears the failures of its own kind of work", nil,
			"bad a deploy; bad b deploy; good z clean; look ironic -> CLOSED/2/0/0s; good z deploy; bad c deploy; look ironic -> CLOSED/1/0/0s", ""},
		{"in mode window a success clears nothing", window,
			"bad a deploy; bad b deploy; good z deploy; bad c deploy; look ironic -> OPEN/3/0/15m0s", "ironic CLOSED>OPEN@0s"},
		{"a host counts once", nil, "bad a deploy; bad a clean; bad a deploy; bad b deploy; look ironic -> CLOSED/2/0/0s", ""},
		{"a bad host counts again after a day without failure", nil,
			"bad a deploy; +5m bad a deploy; look ironic -> CLOSED/0/0/0s; +23h59m bad a deploy; look ironic -> CLOSED/0/0/0s; +24h bad a deploy; look ironic -> CLOSED/1/0/0s", ""},
		{"a host counts again after a success at the work that failed", nil,
			"bad a deploy; +5m good a clean; bad a deploy; look ironic -> CLOSED/0/0/0s; good a deploy; bad a deploy; look ironic -> CLOSED/1/0/0s", ""},
		{"after a reset, and when it has closed, every host counts", nil,
			"bad a deploy; reset ironic; bad a deploy; look ironic -> CLOSED/1/0/0s; bad b deploy; bad c deploy; +15m start p ironic; good p deploy; bad a deploy; look ironic -> CLOSED/1/0/0s",
			"ironic CLOSED>OPEN@0s, ironic OPEN>HALF_OPEN@15m0s, ironic HALF_OPEN>CLOSED@15m0s"},
		{"half of at least so many outcomes open it, at a success too", ratio,
			"bad a deploy; good b clean; bad c deploy; look ironic -> CLOSED/2/0/0s; good d inspect; look ironic -> OPEN/2/0/15m0s",
			"ironic CLOSED>OPEN@0s"},
		{"less than half does not", ratio, "bad a deploy; good b clean; good c deploy; good d deploy; good e deploy; bad f deploy; look ironic -> CLOSED/1/0/0s", ""},
		{"OPEN refuses until its last nanosecond, then lets two probes start", nil,
			three + "; +14m59.999999999s start x ironic -> ironic:OPEN:1ns; +1ns start p ironic -> ok; start q ironic -> ok; start r ironic -> ironic:HALF_OPEN:1h0m0s",
			"ironic CLOSED>OPEN@0s, ironic OPEN>HALF_OPEN@15m0s"},
		{"whoever comes too late waits for the oldest probe", nil,
			three + "; +15m start p ironic; +1m start q ironic; start r ironic -> ironic:HALF_OPEN:59m0s",
			"ironic CLOSED>OPEN@0s, ironic OPEN>HALF_OPEN@15m0s"},
		{"a probe that succeeds closes it, and the other one counts like any other", nil,
			three + "; +15m start p ironic; start q ironic; good p deploy; look ironic -> CLOSED/0/1/0s; bad q deploy; look ironic -> CLOSED/1/0/0s",
			"ironic CLOSED>OPEN@0s, ironic OPEN>HALF_OPEN@15m0s, ironic HALF_OPEN>CLOSED@15m0s"},
		{"a probe that fails opens it for a full recovery time", nil,
			three + "; +15m start p ironic; start q ironic; +5m bad p deploy; look ironic -> OPEN/1/1/15m0s; good q deploy; look ironic -> OPEN/1/0/15m0s",
			"ironic CLOSED>OPEN@0s, ironic OPEN>HALF_OPEN@15m0s, ironic HALF_OPEN>OPEN@20m0s"},
		{"a probe whose other work goes well decides nothing, and makes room", nil,
			three + "; +15m start p ironic; start q ironic; good p clean; look ironic -> HALF_OPEN/0/1/0s; start r ironic -> ok; good r deploy; look ironic -> CLOSED/0/1/0s",
			"ironic CLOSED>OPEN@0s, ironic OPEN>HALF_OPEN@15m0s, ironic HALF_OPEN>CLOSED@15m0s"},
		{"after a trip by hand any work that goes well closes it", nil, "trip ironic 1m; +1m start p ironic; good p clean; look ironic -> CLOSED/0/0/0s",
			"ironic CLOSED>OPEN@0s by hand, ironic OPEN>HALF_OPEN@1m0s, ironic HALF_OPEN>CLOSED@1m0s"},
		{"a cancelled probe makes room for another", nil,
			three + "; +15m start p ironic; +1m start q ironic; cancel p; start r ironic -> ok; start s ironic -> ironic:HALF_OPEN:1h0m0s; good p deploy; look ironic -> HALF_OPEN/0/2/0s",
			"ironic CLOSED>OPEN@0s, ironic OPEN>HALF_OPEN@15m0s"},
		{"a probe without an outcome makes room after four recovery times, and still closes when it goes well", short,
			three + "; +1m start p ironic; start q ironic; +4m start r ironic -> ok; good p deploy; look ironic -> CLOSED/0/2/0s",
			"ironic CLOSED>OPEN@0s, ironic OPEN>HALF_OPEN@1m0s, ironic HALF_OPEN>CLOSED@5m0s"},
		{"work that began before the scope opened says nothing, not even after it has closed", nil,
			"start x ironic; start y ironic; " + three + "; +15m good x deploy; look ironic -> HALF_OPEN/0/1/0s; start p ironic; good p deploy; bad y deploy; look ironic -> CLOSED/0/0/0s",
			"ironic CLOSED>OPEN@0s, ironic OPEN>HALF_OPEN@15m0s, ironic HALF_OPEN>CLOSED@15m0s"},
		{"work that was taken over is no probe, and is never refused", limits,
			"bad a deploy; bad b deploy; bad c deploy; take x ironic; take y ironic; take z ironic; +15m take w ironic; good w deploy; look ironic -> HALF_OPEN/0/3/0s; start p ironic -> many:3/3",
			"ironic CLOSED>OPEN@0s, ironic OPEN>HALF_OPEN@15m0s"},
		{"two may start a minute, in any minute", limits,
			"start a ironic; +30s start b ironic -> ok; start c ironic -> rate:2/2:30s; +29s start c ironic -> rate:2/2:1s; +1s start c ironic -> ok; start d ironic -> rate:2/2:30s", ""},
		{"three may run, and one that ends makes room", limits,
			"start a ironic; +1m start b ironic; +1m start c ironic; +1m start d ironic -> many:3/3; cancel b; start d ironic -> ok", ""},
		{"a refused start takes nothing in any scope", limits,
			"take a group:r; take b group:r; take c group:r; start x ironic group:r -> many:3/3; look ironic -> CLOSED/0/0/0s; start y ironic -> ok; start z ironic -> ok", ""},
		{"the state of any scope comes before the rate of another", limits,
			"start a ironic; start b ironic; trip group:r 0s -> true; start x ironic group:r -> group:r:OPEN:15m0s", "group:r CLOSED>OPEN@0s by hand"},
		{"a permit that has ended is ended", nil, "start a ironic; bad a deploy; bad a deploy; good a deploy; cancel a; look ironic -> CLOSED/1/0/0s", ""},
		{"trip opens for its time, again changes nothing, another time does", nil,
			"trip ironic 2h -> true; trip ironic 2h -> false; +1h trip ironic 2h -> false; look ironic -> OPEN/0/0/1h0m0s; trip ironic 3h -> true; look ironic -> OPEN/0/0/3h0m0s",
			"ironic CLOSED>OPEN@0s by hand"},
		{"a new recovery time is for what failures have opened, from when they did, and not for what was tripped", nil,
			three + "; trip group:r 2h; +10m reload 1h; look ironic -> OPEN/0/0/50m0s; look group:r -> OPEN/0/0/1h50m0s; +50m look ironic -> HALF_OPEN/0/0/0s",
			"ironic CLOSED>OPEN@0s, group:r CLOSED>OPEN@0s by hand, ironic OPEN>HALF_OPEN@1h0m0s"},
		{"reset closes and forgets the failures, and permits stay", nil,
			"start x ironic; " + three + "; reset ironic -> true; look ironic -> CLOSED/0/1/0s; reset ironic -> false; bad d deploy; reset ironic -> true; look ironic -> CLOSED/0/1/0s",
			"ironic CLOSED>OPEN@0s, ironic OPEN>CLOSED@0s by hand"},
		{"reset of what nobody has met changes nothing", nil, "reset group:x -> false; look group:x -> CLOSED/0/0/0s", ""},
		{"HALF_OPEN that nobody uses for two hours closes", nil,
			three + "; +15m tick; +1h59m tick; look ironic -> HALF_OPEN/0/0/0s; +1m tick; look ironic -> CLOSED/0/0/0s",
			"ironic CLOSED>OPEN@0s, ironic OPEN>HALF_OPEN@15m0s, ironic HALF_OPEN>CLOSED@2h15m0s"},
		{"scopes whose kind and name run together are two", nil,
			"start a a-b:c; bad a x; start b a:b-c; bad b x; look a-b:c -> CLOSED/1/0/0s; look a:b-c -> CLOSED/1/0/0s", ""},
		{"a clock that goes back changes nothing", nil,
			three + "; +10m start x ironic -> ironic:OPEN:5m0s; -10m start x ironic -> ironic:OPEN:5m0s; look ironic -> OPEN/0/0/5m0s",
			"ironic CLOSED>OPEN@0s"},
	} {
		t.Run(of.name, func(t *testing.T) {
			d := newDesk(t, roomy(of.change))
			for _, line := range strings.Split(of.script, "; ") {
				step, want, asked := strings.Cut(line, " -> ")
				if first, rest, _ := strings.Cut(step, " "); first[0] == '+' || first[0] == '-' {
					by, err := time.ParseDuration(first)
					if err != nil {
						t.Fatal(err)
					}
					d.now, step = d.now.Add(by), rest
				}
				if got := d.do(step); asked && got != want {
					t.Errorf("%v %s: %s, want %s", d.now.Sub(start), step, got, want)
				}
			}
			if got := strings.Join(d.events, ", "); got != of.events {
				t.Errorf("changes: %s\nwant:    %s", got, of.events)
			}
		})
	}
}

func TestScopesThatNobodyUsesAreForgotten(t *testing.T) {
	d := newDesk(t, roomy(nil))
	d.do("start a group:a")
	d.do("start b group:b")
	d.do("cancel b")
	d.do("start c group:c")
	d.do("bad c deploy")
	known := func() (names []string) {
		for _, st := range d.set.All(d.now) {
			names = append(names, st.Scope.String())
		}
		return names
	}
	d.now = d.now.Add(119 * time.Minute)
	if d.set.Tick(d.now); !slices.Equal(known(), []string{"group:a", "group:b", "group:c"}) {
		t.Errorf("after 119 minutes: %v", known())
	}
	d.do("good d deploy")
	d.now = d.now.Add(time.Minute)
	if d.set.Tick(d.now); !slices.Equal(known(), []string{"group:a", "group:c", "ironic"}) {
		t.Errorf("after two hours: %v, want the one with a permit, the one with a bad host, and the one that work has just ended in", known())
	}
	d.now = d.now.Add(24 * time.Hour)
	if d.set.Tick(d.now); !slices.Equal(known(), []string{"group:a"}) {
		t.Errorf("after a day: %v, want the one with a permit", known())
	}
}

func TestTheStatusHasAllNineFields(t *testing.T) {
	d := newDesk(t, breaker.Config{
		Mode: breaker.Consecutive, FailureThreshold: 2, FailureWindow: time.Hour, RecoveryTimeout: 10 * time.Minute, HalfOpenMaxRequests: 3,
		RateLimitPerMinute: 7, MaxConcurrent: 9,
	})
	for _, step := range []string{"start a ironic", "start b ironic", "start c ironic", "bad a deploy no-boot-device"} {
		d.do(step)
	}
	d.now = d.now.Add(30 * time.Second)
	d.do("bad b deploy no-boot-device")
	d.now = d.now.Add(10 * time.Second)
	got := d.set.Status(d.now, breaker.Scope{Kind: "ironic"})
	if causes := fmt.Sprint(got.Causes); causes != "[{no-boot-device 2 [a b]}]" {
		t.Errorf("causes: %s", causes)
	}
	got.Causes = nil
	want := breaker.Status{
		State: breaker.Open, RecentFailures: 2, FailureThreshold: 2, InstancesThisMinute: 3, RateLimit: 7, ConcurrentInstances: 1,
		MaxConcurrent: 9, LastStateChange: start.Add(30 * time.Second), TimeToRecovery: 590 * time.Second,
		Scope: breaker.Scope{Kind: "ironic"}, Mode: breaker.Consecutive, ProbeLimit: 3,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestARefusalNamesUpToThreeCausesTheCommonestFirst(t *testing.T) {
	d := newDesk(t, roomy(func(c *breaker.Config) { c.FailureThreshold = 6 }))
	for i, text := range []string{"b", "c", "a", "c", "", "d"} {
		d.do(strings.TrimSpace(fmt.Sprintf("bad host%d deploy %s", i, text)))
	}
	err := d.set.Check(d.now, breaker.Scope{Kind: "ironic"})
	const want = "circuit breaker of ironic is OPEN, try again in 15m0s: 6 failures within 5m0s: c (2), a (1), b (1), …"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
