package statusview

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// exampleBreakers has every state.
func exampleBreakers() []api.Breaker {
	long := "Timeout reached while waiting for callback for node, which is what a DHCP server that is down looks like"
	return []api.Breaker{
		{
			Scope: "group:rack1", State: "OPEN", RecentFailures: 3, FailureThreshold: 3, ProbeLimit: 2, TimeToRecovery: 840,
			Causes: []api.BreakerCause{{Text: long, Count: 2, Hosts: []string{"metal3~host-1", "metal3~host-2"}}, {Text: "no route to host", Count: 1}},
		},
		{Scope: "group:rack2", State: "CLOSED", RecentFailures: 1, FailureThreshold: 3, ProbeLimit: 2, Causes: []api.BreakerCause{{Text: "once", Count: 1}}},
		{Scope: "image:http://images/a.md5", State: "OPEN", FailureThreshold: 3, ProbeLimit: 2, TimeToRecovery: 1800, Tripped: true},
		{Scope: "ironic", State: "HALF_OPEN", RecentFailures: 10, FailureThreshold: 10, Probes: 1, ProbeLimit: 2},
	}
}

func TestStatusNamesWhatFailuresStop(t *testing.T) {
	s := exampleStatus()
	s.Breakers, s.Holds = exampleBreakers(), &api.HoldCounts{Held: 4, Failed: 2}
	s.Storm.Pools = []api.PoolFailures{
		{Failed: 9, Hosts: 12, Allowed: 4, Paused: true}, {Pool: "rack1", Failed: 5, Hosts: 10, Allowed: 4, Paused: true}, {Pool: "rack2", Failed: 4, Hosts: 10, Allowed: 4},
	}
	failures := func(s api.Status) string {
		p := &page{}
		p.failures(s)
		return p.String()
	}
	want := `breaker   group:rack1 OPEN, probes in 14m0s; 2 x Timeout reached while waiting for callback for node, which is what a DHCP server that is down looks like
breaker   image:http://images/a.md5 OPEN, probes in 30m0s, by hand
breaker   ironic HALF_OPEN, 1 of 2 probes at work
holds     4 failed and left alone, 2 failed and not held
paused    hosts without a conductor group: 9 of 12 failed, 4 allowed: gets no new hosts
paused    rack1: 5 of 10 failed, 4 allowed: gets no new hosts
`
	if diff := cmp.Diff(want, failures(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := Text(Content{Status: s}, 0); !strings.Contains(text, want) {
		t.Errorf("the text lacks it:\n%s", text)
	}
	folded := "breaker   group:rack1 OPEN, probes in 14m0s; 2 x Timeout reached while waiting\n" +
		"          for callback for node, which is what a DHCP server that is down looks\n          like\n"
	if text := Text(Content{Status: s}, 80); !strings.Contains(text, folded) {
		t.Errorf("a terminal of 80 columns is not shown the whole cause:\n%s", text)
	}
	if got := failures(api.Status{Holds: &api.HoldCounts{Failed: 1}}); got != "holds     1 failed and not held\n" {
		t.Errorf("a host that is not held: %q", got)
	}
	s.Breakers, s.Holds, s.Storm.Pools = s.Breakers[1:2], &api.HoldCounts{}, nil
	if got := failures(s); got != "" {
		t.Errorf("when all is well: %q", got)
	}
}

func TestTextOfBreakers(t *testing.T) {
	want := `SCOPE                      STATE         FAILURES  PROBES  RECOVERY
group:rack1                OPEN          3 of 3    -       in 14m0s
group:rack2                CLOSED        1 of 3    -       -
image:http://images/a.md5  OPEN by hand  0 of 3    -       in 30m0s
ironic                     HALF_OPEN     10 of 10  1 of 2  -

causes in group:rack1
  2 x Timeout reached while waiting for callback for node, which is what a DHCP
      server that is down looks like
      such as metal3/host-1, metal3/host-2
  1 x no route to host

causes in group:rack2
  1 x once
`
	if diff := cmp.Diff(want, Breakers(api.Breakers{Enabled: true, Breakers: exampleBreakers()}, 80)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	many := api.Breaker{Scope: "ironic", Causes: make([]api.BreakerCause, causeRows)}
	if text := Breakers(api.Breakers{Enabled: true, Breakers: []api.Breaker{many}}, 0); strings.Contains(text, "more") {
		t.Errorf("as many causes as are shown: %s", text)
	}
	many.Causes = make([]api.BreakerCause, causeRows+1)
	if text := Breakers(api.Breakers{Enabled: true, Breakers: []api.Breaker{many}}, 0); !strings.HasSuffix(text, "\n  ... and 1 causes more\n") {
		t.Errorf("many causes: %s", text)
	}
	for _, row := range []struct {
		b    api.Breakers
		want string
	}{
		{api.Breakers{}, "there are no breakers: IRONIC_THROTTLE_BREAKER_ENABLED is false\n"},
		{api.Breakers{Enabled: true}, "nothing has happened yet that a breaker could count\n"},
	} {
		if got := Breakers(row.b, 0); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}

func exampleHolds() api.Holds {
	return api.Holds{
		Timeout: "48h0m0s", Stage: "retry", Unsaved: 2,
		Hosts: []api.Hold{
			{
				Namespace: "metal3", Name: "host-1", NodeUUID: "u-1", Episode: "f12c4f8aaacc", Kind: "deployment", State: "deploy failed", Failures: 2,
				Cause: "Timeout reached while waiting for callback for node 3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b",
				Held:  true, Since: noon.Add(-time.Hour), RemainingSeconds: 169200,
			},
			{Name: "bare", NodeUUID: "u-2", Kind: "inspection", Failures: 1, Released: true, Since: noon.In(time.FixedZone("CET", 3600))},
			{NodeUUID: "3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", Kind: "cleaning", Failures: 1, State: "clean failed", Since: noon.AddDate(0, 0, -19)},
		},
		Pools: []api.PoolFailures{{Failed: 1, Hosts: 9, Allowed: 3}, {Pool: "rack1", Failed: 5, Hosts: 10, Allowed: 4, Paused: true}},
	}
}

func TestTextOfHolds(t *testing.T) {
	want := `hold-off  48h0m0s, stage retry
holds     1 failed and left alone, 2 failed and not held
pool      hosts without a conductor group: 1 of 9 failed, 3 allowed
pool      rack1: 5 of 10 failed, 4 allowed: gets no new hosts
warning   2 changes of holds are not saved yet

HOST           KIND        FAILURES  SINCE (UTC)   HELD         EPISODE
metal3/host-1  deployment  2         Nov 21 11:00  for 47h0m0s  f12c4f8aaacc
  deploy failed: Timeout reached while waiting for callback for node 3f2b8a6e…
bare           inspection  1         Nov 21 12:00  released     -
3f2b8a6e…      cleaning    1         Nov  2 12:00  no           -
  clean failed
`
	if diff := cmp.Diff(want, Holds(exampleHolds(), 80)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	whole := "node 3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b\n"
	for _, width := range []int{0, 110} {
		if got := Holds(exampleHolds(), width); !strings.Contains(got, whole) || !strings.Contains(got, "\n3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b  cleaning") {
			t.Errorf("%d columns: UUIDs are shortened:\n%s", width, got)
		}
	}
	want = "hold-off  off\nholds     no host has failed\n"
	if got := Holds(api.Holds{Timeout: "0s", Stage: "retry"}, 0); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTextOfFailuresIsHarmlessAndNarrow(t *testing.T) {
	const bad = "\x1b[2J\n\t\u202e"
	hostile := strings.Repeat(bad+"é", 60)
	b := api.Breaker{Scope: bad, State: bad, Tripped: true, Causes: []api.BreakerCause{{Text: hostile, Count: 1, Hosts: []string{hostile}}}}
	h := api.Holds{
		Timeout: bad, Stage: bad, Pools: []api.PoolFailures{{Pool: bad}},
		Hosts: []api.Hold{{Namespace: bad, Name: bad, Episode: bad, Kind: bad, State: bad, Cause: hostile}, {NodeUUID: bad, Cause: hostile}},
	}
	c := Content{Status: api.Status{Breakers: []api.Breaker{b}, Storm: api.Storm{Pools: []api.PoolFailures{{Pool: bad, Paused: true}}}}}
	all := api.Breakers{Enabled: true, Breakers: []api.Breaker{b}}
	for _, width := range []int{0, 80} {
		for _, text := range []string{Breakers(all, width), Holds(h, width), Text(c, width)} {
			for _, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
				if l != printable(l) {
					t.Errorf("harmful: %q", l)
				}
				if n := utf8.RuneCountInString(l); width > 0 && n > width {
					t.Errorf("%d columns: %s", n, l)
				}
			}
			if strings.Count(text, "\n") > 15 {
				t.Errorf("foreign text breaks lines:\n%s", text)
			}
		}
	}
}

func TestTextOfChanges(t *testing.T) {
	got := Release(api.ReleaseAnswer{Released: true, Message: "it may queue\x07 again", Hold: api.Hold{Namespace: "metal3", Name: "host-1"}}) +
		Release(api.ReleaseAnswer{Message: "nothing held it", Hold: api.Hold{NodeUUID: "u-1\x1b"}}) +
		BreakerChange(api.BreakerAnswer{Changed: true, Message: "is\nopen", Breaker: api.Breaker{Scope: "group:r\x1b", State: "OPEN"}})
	want := `host      metal3/host-1
released  yes
message   it may queue? again
host      u-1?
released  no
message   nothing held it
scope     group:r?
state     OPEN
changed   yes
message   is?open
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
