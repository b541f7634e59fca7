package statusview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const someUUID = "3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"

func seconds(s float64) *float64 { return &s }

// night is a bad one: everything that can be wrong is.
func night() Content {
	const cause = "Timeout reached while waiting for callback for node, which is what a DHCP server that is down looks like"
	s := api.Status{
		Mode: "observe", Headline: "Two things are wrong.", Warnings: []string{"more workers than slots"},
		View: api.View{Fresh: true, Settled: true, AgeSeconds: 2.4, LastError: "no route to host"},
		Slots: api.SlotsView{
			Total: api.Slots{Limit: 20, Occupied: 2, Free: 18, Leased: 1, Booting: 1, Waiting: 7},
			Pools: map[string]api.Slots{"rack1": {Limit: 1, Occupied: 1}, "idle": {Limit: 9}},
			Occupants: []api.Occupant{
				{Name: "metal3~host-2", Kind: "granted", Op: api.OpProvision, SinceSeconds: 3.2, Counted: true},
				{NodeUUID: someUUID, Name: "metal3~host-1", Kind: "adopted", State: "deploying", SinceSeconds: 5400, Stuck: true},
			},
		},
		Refusals: []api.Count{{Reason: api.ReasonFull, Count: 7}},
		Sizing:   api.Sizing{Pools: []api.PoolSizing{{Limit: 20, Ceiling: 20, Recommended: 12, Evidence: "boots are slow"}}},
		Breakers: []api.Breaker{
			{Scope: "group:rack1", State: "OPEN", RecentFailures: 3, FailureThreshold: 3, ProbeLimit: 2, TimeToRecovery: 840,
				Causes: []api.BreakerCause{{Text: cause, Count: 2, Hosts: []string{"metal3~h-1", "metal3~h-2"}}, {Text: "once", Count: 1}}},
			{Scope: "group:rack2", State: "OPEN", FailureThreshold: 3, TimeToRecovery: 1800, Tripped: true},
			{Scope: "group:rack3", State: "CLOSED", RecentFailures: 1, FailureThreshold: 3},
			{Scope: "ironic", State: "HALF_OPEN", RecentFailures: 10, FailureThreshold: 10, Probes: 1, ProbeLimit: 2},
		},
		Holds:   &api.HoldCounts{Held: 4, Failed: 2},
		Storm:   api.Storm{Pools: []api.PoolFailures{{Pool: "rack1", Failed: 5, Hosts: 10, Allowed: 4, Paused: true}, {Pool: "rack2"}}},
		Cluster: &api.Cluster{Leader: &api.Leader{Holder: "throttle-1"}},
	}
	return Content{Status: s, Queue: api.Queue{Pools: []api.PoolQueue{
		{
			Waiting: 7, Silent: 2, Stopped: 3,
			Hosts: []api.QueuedHost{
				{Position: 1, Name: "metal3~host-9", WaitedSeconds: 600, ExpectSeconds: seconds(5)},
				{Position: 2, NodeUUID: "u-7", Errors: 3, WaitedSeconds: 61, Reason: api.ReasonFull, ExpectSeconds: seconds(90), AtMostSeconds: seconds(200)},
			},
		},
		{Pool: "rack1", Waiting: 1, Hosts: []api.QueuedHost{{Position: 1, Name: "bare"}}},
	}}}
}

func differs(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStatusHasWhatAnOperatorActsOn(t *testing.T) {
	differs(t, Text(night(), true), `Two things are wrong.
slots     2 of 20 taken, 1 not at work yet, 1 booting without a slot, 7 waiting, 3 stopped, 2 silent for too long
pool      rack1: 1 of 1 taken
limit     20, recommended 12 (boots are slow)
breaker   group:rack1 OPEN, probes in 14m; 2 x Timeout reached while waiting for callback for node, which is what a DHCP server that is down looks like
breaker   group:rack2 OPEN, probes in 30m, by hand
breaker   ironic HALF_OPEN, 1 of 2 probes at work
holds     4 failed and left alone, 2 failed and not held
paused    rack1: 5 of 10 failed, 4 allowed: gets no new hosts
ironic    the last poll failed: no route to host
standby   throttle-1 leads
refusals  enforce would have said 7 full
warning   more workers than slots

WORKING        OP         STATE      SINCE  NOTE
metal3/host-1  -          deploying  1h30m  stuck, adopted, takes no slot
metal3/host-2  provision  -          3s     -

NEXT  HOST           ERRORS  TOLD  WAITED  EXPECTED
1     metal3/host-9  -       -     10m     in 5s
2     u-7            3       full  1m      in 1m to 3m
... and 5 hosts more

NEXT OF rack1  HOST  WAITED  EXPECTED
1              bare  0s      not known yet
`)
	quiet := Content{Status: api.Status{Headline: "All is well.", Mode: "enforce", View: api.View{Fresh: true}}}
	differs(t, Text(quiet, true), "All is well.\nslots     0 of 0 taken\n")
}

// A terminal is shown a screen; a pipe gets all rows.
func TestStatusFitsOneScreen(t *testing.T) {
	c := night()
	for i := range 40 {
		c.Status.Slots.Occupants = append(c.Status.Slots.Occupants, api.Occupant{Name: fmt.Sprint("metal3~w-", i), Kind: "granted", Counted: true})
		c.Queue.Pools[0].Hosts = append(c.Queue.Pools[0].Hosts, api.QueuedHost{Position: i + 3, Name: fmt.Sprint("metal3~q-", i)})
		c.Status.Breakers = append(c.Status.Breakers, api.Breaker{Scope: fmt.Sprint("group:", i), State: "OPEN"})
	}
	bad := Text(c, true)
	c.Queue.Pools, c.Status.Breakers = c.Queue.Pools[:1], nil
	usual := Text(c, true)
	for text, most := range map[string]int{bad: 31, usual: lines} {
		if n := strings.Count(text, "\n"); n > most || !strings.Contains(text, "stuck") || !strings.Contains(text, "hosts more") {
			t.Errorf("%d lines, want at most %d, with who is stuck:\n%s", n, most, text)
		}
	}
	if text := Text(c, false); !strings.Contains(text, "metal3/w-39") || !strings.Contains(text, "metal3/q-17") || strings.Contains(text, "metal3/q-18") {
		t.Errorf("a pipe gets all who work, and the first %d in line:\n%s", QueueRows, text)
	}
}

func TestTextOfBreakers(t *testing.T) {
	differs(t, Breakers(api.Breakers{Enabled: true, Breakers: night().Status.Breakers}), `SCOPE        STATE      FAILURES  NEXT
group:rack1  OPEN       3 of 3    probes in 14m
group:rack2  OPEN       0 of 3    probes in 30m, by hand
group:rack3  CLOSED     1 of 3    -
ironic       HALF_OPEN  10 of 10  1 of 2 probes at work

causes in group:rack1
  2 x Timeout reached while waiting for callback for node, which is what a DHCP server that is down looks like
      such as metal3/h-1, metal3/h-2
  1 x once
`)
	differs(t, Breakers(api.Breakers{}), "there are no breakers: IRONIC_THROTTLE_BREAKER_ENABLED is false\n")
	differs(t, Breakers(api.Breakers{Enabled: true}), "nothing has happened yet that a breaker could count\n")
}

func TestTextOfHolds(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.FixedZone("CET", 3600))
	h := api.Holds{Timeout: "48h0m0s", Stage: "retry", Unsaved: 2, Hosts: []api.Hold{
		{Namespace: "metal3", Name: "host-1", Episode: "f12c4f8aaacc", Kind: "deployment", State: "deploy failed", Failures: 2, Since: noon,
			Cause: "Timeout of node " + someUUID, Held: true, RemainingSeconds: 169200},
		{Name: "bare", NodeUUID: "u-2", Kind: "inspection", Failures: 1, Released: true, Since: noon},
		{NodeUUID: someUUID, Kind: "cleaning", Failures: 1, State: "clean failed", Since: noon},
	}, Pools: []api.PoolFailures{{Pool: "idle", Hosts: 9}, {Failed: 5, Hosts: 10, Allowed: 4, Paused: true}}}
	differs(t, Holds(h), `hold-off  2d, stage retry
holds     1 failed and left alone, 2 failed and not held
pool      hosts without a conductor group: 5 of 10 failed, 4 allowed: gets no new hosts
warning   2 changes of holds are not saved yet

HOST                                  KIND        SINCE                 HELD       EPISODE       FAILURES  CAUSE
metal3/host-1                         deployment  2026-11-21T11:00:00Z  for 1d23h  f12c4f8aaacc  2         deploy failed: Timeout of node 3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b
bare                                  inspection  2026-11-21T11:00:00Z  released   -             1         -
3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b  cleaning    2026-11-21T11:00:00Z  no         -             1         clean failed
`)
	differs(t, Holds(api.Holds{Timeout: "0s"}), "hold-off  off\nholds     no host has failed\n")
	differs(t, Release(api.ReleaseAnswer{Released: true, Message: "it may\x07", Hold: h.Hosts[0]}), "host      metal3/host-1\nreleased  yes\nmessage   it may?\n")
	differs(t, BreakerChange(api.BreakerAnswer{Breaker: api.Breaker{Scope: "s", State: "OPEN"}}), "scope     s\nstate     OPEN\nchanged   no\nmessage   \n")
}

// Foreign text steers no terminal and breaks no line.
func TestTextIsHarmless(t *testing.T) {
	const bad = "\x1b[2J\n\t\u202e\x9b"
	long := strings.Repeat(bad+"é", 60)
	b := api.Breaker{Scope: bad, State: "OPEN" + bad, Causes: []api.BreakerCause{{Text: long, Count: 1, Hosts: []string{long}}}}
	c := Content{Status: api.Status{
		Headline: bad, Version: bad, Mode: bad, Warnings: []string{long}, View: api.View{Fresh: true, LastError: bad}, Breakers: []api.Breaker{b},
		Slots:   api.SlotsView{Pools: map[string]api.Slots{bad: {Waiting: 1}}, Occupants: []api.Occupant{{Name: long, NodeUUID: bad, Kind: bad, State: bad, Pool: bad}}},
		Sizing:  api.Sizing{Pools: []api.PoolSizing{{Pool: bad, Ceiling: 1, Evidence: bad}}},
		Storm:   api.Storm{Pools: []api.PoolFailures{{Pool: bad, Paused: true}}},
		Cluster: &api.Cluster{Leader: &api.Leader{Holder: bad}},
	}}
	c.Queue.Pools = []api.PoolQueue{{Pool: bad, Waiting: 1, Hosts: []api.QueuedHost{{Name: long, Reason: bad}}}}
	h := api.Holds{Hosts: []api.Hold{{Namespace: bad, Name: bad, Episode: bad, Kind: bad, State: bad, Cause: long}}, Pools: []api.PoolFailures{{Pool: bad, Failed: 1}}}
	why := api.Why{Host: bad, State: bad, Story: []string{bad}, Steps: []string{bad}}
	all := api.Breakers{Enabled: true, Breakers: []api.Breaker{b}}
	for _, text := range []string{Text(c, false), Queue(c.Queue), Breakers(all), Holds(h), Why(why)} {
		for l := range strings.Lines(text) {
			if l = strings.TrimSuffix(l, "\n"); l != printable(l) {
				t.Errorf("harmful: %q", l)
			}
		}
		if n := strings.Count(text, "\n"); n > 40 {
			t.Errorf("foreign text breaks lines:\n%s", text)
		}
	}
}
