package admission_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// TestHeadline holds the one sentence that an operator reads first, for what may go wrong.
func TestHeadline(t *testing.T) {
	for _, row := range []struct {
		name string
		play func(t *testing.T) *front
		want string
	}{
		{"nobody wants anything", func(t *testing.T) *front { return newFront(t, 20) }, "0 of 20 slots are taken, nobody waits."},
		{"no poll yet", func(t *testing.T) *front {
			c, err := admission.New(admission.DefaultConfig(), t0)
			if err != nil {
				t.Fatal(err)
			}
			c.PollFailed(t0, fmt.Errorf("ironic: unreachable"))
			return &front{site: &site{T: t, Controller: c, now: t0}}
		}, "Nothing new starts: no poll of Ironic has succeeded yet (ironic: unreachable)."},
		{"just started", func(t *testing.T) *front {
			c, err := admission.New(admission.DefaultConfig(), t0)
			if err != nil {
				t.Fatal(err)
			}
			look(c, t0)
			return &front{site: &site{T: t, Controller: c, now: t0}}
		}, "Nothing new starts yet: the throttle has just started and is finding out who is at work."},
		{"full", func(t *testing.T) *front {
			f := newFront(t, 1)
			f.starts(1)
			for i := range 3 {
				f.of(2 + i)
				f.want(by(2+i, api.OpProvision), api.ReasonFull)
			}
			return f
		}, "1 of 1 slots are taken, 3 hosts wait."},
		{"dead operator", func(t *testing.T) *front {
			f := newFront(t, 1)
			f.starts(1)
			f.of(2)
			f.want(by(2, api.OpProvision), api.ReasonFull)
			f.passes(19 * time.Minute)
			return f
		}, "Nobody has asked for 19m, and 1 host waits: is BMO running?"},
		{"stale", func(t *testing.T) *front {
			f := newFront(t, 1)
			f.starts(1)
			f.of(2)
			f.want(by(2, api.OpProvision), api.ReasonFull)
			f.now = f.now.Add(3 * time.Minute)
			f.PollFailed(f.now, fmt.Errorf("ironic: unreachable"))
			return f
		}, "Nothing new starts: the last good poll of Ironic was 3m ago (ironic: unreachable); 1 host waits."},
		{"breaker open", func(t *testing.T) *front {
			f := opened(t, 8)
			for i := range 3 {
				f.of(20 + i)
				f.want(by(20+i, api.OpProvision), api.ReasonBreakerOpen)
			}
			return f
		}, "Nothing starts: breaker ironic is OPEN, probes in 14m; 3 hosts are stopped."},
		{"breaker half open", func(t *testing.T) *front {
			f := opened(t, 8)
			f.of(22)
			f.passes(15 * time.Minute)
			f.starts(20, 21)
			f.want(by(22, api.OpProvision), api.ReasonHalfOpen)
			return f
		}, "Nothing starts: breaker ironic is HALF_OPEN, 2 of 2 probes run; 1 host is stopped."},
		{"a group is paused, a host held", func(t *testing.T) *front {
			quota, err := holdoff.ParseQuota("0")
			if err != nil {
				t.Fatal(err)
			}
			f := newFront(t, 5, holding(hour, func(c *admission.Config) { c.MaxFailed = quota }))
			f.failedAndCleaned(1)
			f.of(2)
			f.shorted(2)
			return f
		}, "The default conductor group is paused; 1 failed host is held; 0 of 5 slots are taken, 1 host is stopped."},
	} {
		f := row.play(t)
		s := f.Status(f.now)
		if s.Headline != row.want {
			t.Errorf("%s:\n got %q\nwant %q", row.name, s.Headline, row.want)
		}
		// The headline counts who is stopped like the metric does.
		told := regexp.MustCompile(`(\d+) (?:host )?(?:is|hosts are|are) stopped`).FindStringSubmatch(s.Headline)
		if len(told) > 0 && told[1] != fmt.Sprint(s.Turns.Stopped) {
			t.Errorf("%s: %d are stopped", row.name, s.Turns.Stopped)
		}
	}
}

// The wait of the last host is that of the slowest pool, and unsaid where nobody knows it.
func TestHeadlineTellsOfTheSlowestPool(t *testing.T) {
	f := newFront(t, 8, func(c *admission.Config) { c.Slots.Limits.Groups = map[string]int{"slow": 1} })
	ask := func(i int) api.Answer {
		if i >= 30 {
			f.of(i).ConductorGroup = "slow"
		}
		return f.ask(by(i, api.OpProvision))
	}
	for range 3 {
		for i := range 60 {
			ask(i)
		}
		f.passes(10 * time.Second)
	}
	for range 5 {
		for i := range 60 {
			if ask(i).Reason == api.ReasonGranted {
				f.stamp(i, ironic.Deploying, "")
			}
		}
		f.passes(2 * time.Minute)
		for i := range 30 { // those of pool slow go on
			if f.of(i).State == ironic.Deploying {
				f.succeeds(i)
			}
		}
		f.passes(2 * time.Minute)
	}
	measured, unknown := 0, 0
	for _, p := range f.Queue(f.now, 99).Pools {
		if n := len(p.Hosts); n > 0 && p.Hosts[n-1].ExpectSeconds != nil {
			measured++
		} else if n > 0 {
			unknown++
		}
	}
	if measured != 1 || unknown != 1 {
		t.Fatalf("%d pools are measured and %d are not: this is not what the test is about", measured, unknown)
	}
	if got := f.Status(f.now).Headline; strings.Contains(got, "the last of them") {
		t.Errorf("%q tells of a wait that nobody knows", got)
	}
}
