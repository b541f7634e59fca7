package statusview

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// example has something in every part.
func example() Content { return Content{Status: exampleStatus(), Queue: exampleQueue()} }

func exampleStatus() api.Status {
	return api.Status{
		Version: "v1.2.3", Mode: "observe", Headline: "2 of 20 slots are taken.",
		View: api.View{Fresh: true, Settled: true, AgeSeconds: 2.4, Polls: 12, BusyNodes: 3},
		Slots: api.SlotsView{
			Total: api.Slots{Limit: 20, Occupied: 2, Free: 18, Leased: 1, Booting: 1, Waiting: 7},
			Pools: map[string]api.Slots{"rack1": {Limit: 1, Occupied: 1}},
			Occupants: []api.Occupant{
				{NodeUUID: "u-1", Name: "metal3~host-1", Pool: "rack1", Kind: "adopted", State: "deploying", Busy: true, SinceSeconds: 5400, Stuck: true},
				{Name: "metal3~host-2", Kind: "granted", Op: api.OpProvision, SinceSeconds: 3.2, Counted: true},
			},
		},
		Asks:     []api.Count{{Reason: api.ReasonGranted, Count: 1}, {Reason: api.ReasonObserve, Count: 7}, {Reason: api.ReasonStale}},
		Refusals: []api.Count{{Reason: api.ReasonFull, Count: 7}},
		Totals:   api.Totals{Granted: 1, Adopted: 1, WrittenOff: 1},
		Sizing:   exampleSizing(),
		Warnings: []string{"more workers than slots"},
	}
}

func exampleSizing() api.Sizing {
	return api.Sizing{Mode: "fixed", Pools: []api.PoolSizing{
		{Limit: 20, Ceiling: 20, Recommended: 25, Verdict: api.SizingRaise, Evidence: "60 boots at 20 slots lost none, and none took longer than without load"},
		{Pool: "rack1", Limit: 1, Ceiling: 1, Verdict: api.SizingUnknown},
	}}
}

func seconds(s float64) *float64 { return &s }

func exampleQueue() api.Queue {
	return api.Queue{Pools: []api.PoolQueue{
		{
			Limit: 20, Free: 1, Waiting: 7, Due: 1, Silent: 2, Stopped: 3, MeanSlotSeconds: 1200,
			FailingOpen: true, FailingAllowed: 5, FailingHeld: 3,
			Tenants: []api.TenantQueue{
				{Tenant: "dev", Weight: 0.5, Holding: 1, Waiting: 2, Granted: 2},
				{Tenant: "", Weight: 1},
				{Tenant: "metal3", Weight: 3, Holding: 14, Waiting: 5, Failing: 1, Granted: 40},
			},
			Hosts: []api.QueuedHost{
				{Position: 1, Name: "metal3~host-9", Tenant: "metal3", Lane: "healthy", Due: true, WaitedSeconds: 600, ExpectSeconds: seconds(5)},
				{Position: 2, NodeUUID: "u-7", Tenant: "dev", Lane: "failing", Errors: 3, WaitedSeconds: 61, ExpectSeconds: seconds(90), AtMostSeconds: seconds(200)},
				{Position: 6, Name: "dev~host-8", Reason: api.ReasonFull, Tenant: "dev", Lane: "healthy", WaitedSeconds: 3, ExpectSeconds: seconds(3600)},
			},
		},
		{Pool: "rack1", Limit: 1, Waiting: 1, Hosts: []api.QueuedHost{{Position: 1, Name: "bare", Lane: "healthy"}}},
		{Pool: "rack2", Limit: 1},
	}}
}

func TestText(t *testing.T) {
	want := `2 of 20 slots are taken.
throttle  v1.2.3, mode observe: nothing is refused
view      fresh, 2s old
slots     2 of 20 occupied, 18 free, 1 not at work yet, 1 booting without a slot, 7 waiting
pool      rack1: 1 of 1 occupied, 0 free
limit     20 (fixed), recommended limit: 25. 60 boots at 20 slots lost none, and none took longer than without load.
queue     7 waiting, 3 stopped, 2 silent for too long
refusals  enforce would have said: 7 full
totals    1 granted, 1 adopted, 1 written off as stuck
warning   more workers than slots

HOST           KIND     OP         STATE      POOL   SINCE    NODE  NOTE
metal3/host-1  adopted  -          deploying  rack1  1h30m0s  u-1   stuck, takes no slot
metal3/host-2  granted  provision  -          -      3s       -     -

TENANT  WEIGHT  SLOTS  WAITING  FAILING
metal3  3       14     5        1
dev     0.5     1      2        0

PLACE  HOST           ERRORS  TOLD  WAITED  EXPECTED
1      metal3/host-9  0       -     10m0s   in 5s
2      u-7            3       -     1m1s    in 1m30s to 3m20s
6      dev/host-8     0       full  3s      in 1h0m0s
... and 4 hosts more

PLACE OF rack1  HOST  ERRORS  WAITED  EXPECTED
1               bare  0       0s      not known yet
`
	if diff := cmp.Diff(want, Text(example(), 0)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// A tenant that is alone, zeros and words of the inside tell an operator nothing.
func TestWhatSaysNothingIsLeftOut(t *testing.T) {
	c := Content{
		Status: api.Status{Version: "v1", Mode: "enforce", View: api.View{Fresh: true, Settled: true}, Slots: api.SlotsView{
			Total: api.Slots{Limit: 2, Free: 2}, Pools: map[string]api.Slots{"rack1": {Limit: 1, Free: 1}},
		}},
		Queue: api.Queue{Pools: []api.PoolQueue{{Waiting: 1, Tenants: []api.TenantQueue{{Tenant: "metal3", Waiting: 1}, {Tenant: "idle"}}}}},
	}
	want := "throttle  v1, mode enforce\nview      fresh, 0s old\nslots     0 of 2 occupied, 2 free\n... and 1 hosts more\n"
	if got := Text(c, 0); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// night is a bad one: everything that can be wrong is, and everybody waits.
func night() Content {
	c := example()
	c.Server = "http://127.0.0.1:8087"
	c.Status.Headline = "Nothing starts: breaker ironic is OPEN, probes in 32s; 110 hosts are stopped, the first 20 of them for 19m."
	c.Status.View.LastError = "ironic: unreachable: Get \"http://ironic.example:6385/v1/nodes\": dial tcp: connection refused"
	c.Status.Breakers = exampleBreakers()
	c.Status.Holds = &api.HoldCounts{Held: 4, Failed: 2}
	c.Status.Slots.Occupants = nil
	for i := range 20 {
		c.Status.Slots.Occupants = append(c.Status.Slots.Occupants, api.Occupant{
			Name: fmt.Sprintf("metal3~host-%04d", i), NodeUUID: someUUID, Kind: "granted", Op: api.OpProvision, State: "wait call-back", SinceSeconds: 90, Counted: true, Stuck: i == 17,
		})
	}
	p := &c.Queue.Pools[0]
	p.Waiting, p.Hosts = 200, nil
	for i := range 20 {
		p.Hosts = append(p.Hosts, api.QueuedHost{Position: i + 1, Name: fmt.Sprintf("metal3~waits-%04d", i), Reason: api.ReasonBreakerOpen, ExpectSeconds: seconds(3600)})
	}
	return c
}

// A terminal is shown a screen, and what matters in it; a pipe gets all.
func TestStatusFitsOneScreen(t *testing.T) {
	busy := night()
	busy.Status.Breakers, busy.Status.View.LastError, busy.Status.Slots.Pools = nil, "", nil
	busy.Queue.Pools = busy.Queue.Pools[:1]
	busy.Queue.Pools[0].Tenants = nil
	for _, row := range []struct {
		name   string
		c      Content
		most   int // lines
		shown  []string
		hidden []string
	}{
		{"a storm", busy, 33, []string{"metal3/host-0017", "stuck", "... and 12 hosts more", "metal3/waits-0004", "... and 195 hosts more"}, []string{"metal3/host-0007 ", "metal3/waits-0005"}},
		{"a bad night", night(), 48, []string{"breaker   group:rack1 OPEN", "breaker   ironic HALF_OPEN", "warning", "connection refused", "recommended limit: 25"}, nil},
	} {
		text := Text(row.c, 100)
		if n := strings.Count(text, "\n"); n > row.most {
			t.Errorf("%s has %d lines, want at most %d:\n%s", row.name, n, row.most, text)
		}
		for _, words := range row.shown {
			if !strings.Contains(text, words) {
				t.Errorf("%s lacks %q:\n%s", row.name, words, text)
			}
		}
		for _, words := range row.hidden {
			if strings.Contains(text, words) || !strings.Contains(Text(row.c, 0), words) {
				t.Errorf("%s has %q, which is for a pipe:\n%s", row.name, words, text)
			}
		}
	}
}

func TestTextOfALongQueueIsShort(t *testing.T) {
	p := api.PoolQueue{Waiting: 100_000}
	for i := range 1000 {
		p.Tenants = append(p.Tenants, api.TenantQueue{Tenant: fmt.Sprintf("ns-%03d", i), Waiting: i})
		p.Hosts = append(p.Hosts, api.QueuedHost{Position: i + 1, Name: fmt.Sprintf("ns~h-%03d", i)})
	}
	text := Text(Content{Queue: api.Queue{Pools: []api.PoolQueue{p}}}, 0)
	for _, want := range []string{"\nns-999 ", "\nns-995 ", "\n... and 994 tenants more\n", "\n20 ", "\n... and 99980 hosts more\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if strings.Contains(text, "ns-994") || strings.Contains(text, "h-020") {
		t.Error("is not cut off")
	}
	if text := Queue(api.Queue{Pools: []api.PoolQueue{{}}}, 0); text != "queue     nobody waits\n" {
		t.Errorf("an empty queue: %s", text)
	}
	if text := Text(Content{}, 0); strings.Contains(text, "queue") {
		t.Errorf("no queue at all: %s", text)
	}
}

func TestTextOfTheView(t *testing.T) {
	for _, row := range []struct {
		view api.View
		want string
	}{
		{api.View{AgeSeconds: -1, LastError: "ironic: unreachable"}, "starting: no complete poll of Ironic yet; ironic: unreachable"},
		{api.View{AgeSeconds: 1, Fresh: true, Polls: 1}, "starting: finding out who is busy, 1s old"},
		{api.View{AgeSeconds: 90, Settled: true, Polls: 5, LastError: "500"}, "stale: last complete poll 1m30s ago; 500"},
	} {
		if text := viewText(row.view); text != row.want {
			t.Errorf("%q, want %q", text, row.want)
		}
	}
}

func TestTextIsHarmless(t *testing.T) {
	s := api.Status{
		Version: "v\x1b[2J", Mode: "enforce\n", Warnings: []string{"w\r"}, View: api.View{LastError: "e\x07\u202e"},
		Asks: []api.Count{{Reason: "r\t", Count: 1}},
		Sizing: api.Sizing{
			Pools: []api.PoolSizing{{Pool: "p\x1b", Verdict: "v\n", Evidence: "\x1be\n"}}, Boots: []api.BootTimes{{State: "s\x9b", Failed: 1}},
		},
		Slots: api.SlotsView{
			Pools:     map[string]api.Slots{"p\x1b": {}},
			Occupants: []api.Occupant{{Name: "n\x1b]0;x\x07", NodeUUID: "u\n", Kind: "k\t", Op: "o\x00", State: "s\x9b", Pool: "p\v"}},
		},
	}
	c := Content{Status: s, Queue: api.Queue{Pools: []api.PoolQueue{{
		Pool: "p\x1b", Waiting: 1, Tenants: []api.TenantQueue{{Tenant: "t\t\n"}},
		Hosts: []api.QueuedHost{{Name: "n\x07\t", Lane: "l\n"}, {NodeUUID: "u\x9b"}},
	}}}}
	for _, r := range Text(c, 0) {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e') {
			t.Fatalf("%q in %q", r, Text(c, 0))
		}
	}
}

func TestTheServerThatAnsweredIsNamed(t *testing.T) {
	if text := Text(Content{Server: "http://127.0.0.1:8087"}, 0); !strings.Contains(text, "\nserver    http://127.0.0.1:8087\nview ") {
		t.Error(text)
	}
}
