package statusview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
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
				{NodeUUID: "u-1", Name: "metal3~host-1", Pool: "rack1", Kind: "adopted", State: "deploying", Busy: true, SinceSeconds: 5400, Stuck: true, Abandoned: true},
				{Name: "metal3~host-2", Kind: "leased", Op: api.OpProvision, SinceSeconds: 3.2, Counted: true},
			},
		},
		Asks:     []api.Count{{Reason: api.ReasonGranted, Count: 1}, {Reason: api.ReasonObserve, Count: 7}, {Reason: api.ReasonStale}},
		Refusals: []api.Count{{Reason: api.ReasonFull, Count: 7}},
		Totals:   api.Totals{Granted: 1, Adopted: 1, WrittenOff: 1},
		Sizing:   exampleSizing(),
		Warnings: []string{"more workers than slots"},
	}
}

func seconds(s float64) *float64 { return &s }

func exampleQueue() api.Queue {
	return api.Queue{Pools: []api.PoolQueue{
		{
			Limit: 20, Free: 1, Waiting: 7, Called: 5, Due: 1, Parked: 5, Stopped: 3, Ahead: 4, ClaimWindowSeconds: 180, MeanSlotSeconds: 1200,
			FailingOpen: true, FailingAllowed: 5, FailingHeld: 3,
			Tenants: []api.TenantQueue{
				{Tenant: "dev", Weight: 0.5, Holding: 1, Called: 1, Waiting: 1, Granted: 2},
				{Tenant: "", Weight: 1},
				{Tenant: "metal3", Weight: 3, Holding: 14, Called: 4, Waiting: 1, Failing: 1, Granted: 40},
			},
			Hosts: []api.QueuedHost{
				{Position: 1, Name: "metal3~host-9", Tenant: "metal3", Lane: "healthy", Called: true, Due: true, WaitedSeconds: 600, ExpectSeconds: seconds(5)},
				{Position: 2, NodeUUID: "u-7", Tenant: "dev", Lane: "failing", Errors: 3, Called: true, WaitedSeconds: 61, ExpectSeconds: seconds(90), AtMostSeconds: seconds(200)},
				{Position: 6, Name: "dev~host-8", Reason: api.ReasonFull, Tenant: "dev", Lane: "healthy", WaitedSeconds: 3, ExpectSeconds: seconds(3600)},
			},
		},
		{Pool: "rack1", Limit: 1, Waiting: 1, Hosts: []api.QueuedHost{{Position: 1, Name: "bare", Lane: "healthy"}}},
		{Pool: "rack2", Limit: 1},
	}}
}

func TestText(t *testing.T) {
	want := `2 of 20 slots are taken.
throttle  v1.2.3, mode observe
view      fresh, 2s old, 3 busy nodes, 12 polls
slots     2 of 20 occupied, 18 free, 1 leased, 1 booting, 7 waiting
pool      rack1: 1 of 1 occupied, 0 free, 0 leased, 0 booting, 0 waiting
limit     20 (fixed), recommended limit: 25. 60 boots at 20 slots lost none, and none took longer than without load.
boots     clean wait: 61, median 2m to 3m, 5 failed without agent; wait call-back: 0, 2 failed without agent
queue     7 waiting, 5 of them called, 1 due; 3 stopped; 2 silent for too long
turns     up to 4 called ahead, claim window 3m0s, a slot is held for about 20m0s, failing lane open: 3 held, 5 allowed now
queue     rack1: 1 waiting, 0 of them called, 0 due
turns     rack1: up to 0 called ahead, claim window 0s, how long a slot is held is not known yet, failing lane shut: 0 held, 0 allowed now
answers   1 granted, 7 observe
refusals  enforce would have said: 7 full
totals    1 granted, 0 finished, 0 expired, 0 refused, 0 vanished, 1 adopted, 0 foreign, 1 written off
warning   more workers than slots

HOST           KIND     OP         STATE      POOL   SINCE    NODE  NOTE
metal3/host-1  adopted  -          deploying  rack1  1h30m0s  u-1   no conductor works on it, stuck, takes no slot
metal3/host-2  leased   provision  -          -      3s       -

TENANT  WEIGHT  SLOTS  CALLED  WAITING  FAILING  GRANTED
metal3  3       14     4       1        1        40
dev     0.5     1      1       1        0        2
-       1       0      0       0        0        0

PLACE  HOST           LANE     ERRORS  TURN    TOLD  WAITED  EXPECTED
1      metal3/host-9  healthy  0       due     -     10m0s   in 5s
2      u-7            failing  3       called  -     1m1s    in 1m30s to 3m20s
6      dev/host-8     healthy  0       -       full  3s      in 1h0m0s
... and 4 hosts more

PLACE OF rack1  HOST  LANE     ERRORS  TURN  TOLD  WAITED  EXPECTED
1               bare  healthy  0       -     -     0s      not known yet
`
	if diff := cmp.Diff(want, Text(example(), 0)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestTextOfALongQueueIsShort(t *testing.T) {
	p := api.PoolQueue{Waiting: 100_000}
	for i := range 1000 {
		p.Tenants = append(p.Tenants, api.TenantQueue{Tenant: fmt.Sprintf("ns-%03d", i), Waiting: i})
		p.Hosts = append(p.Hosts, api.QueuedHost{Position: i + 1, Name: fmt.Sprintf("ns~h-%03d", i)})
	}
	text := Text(Content{Queue: api.Queue{Pools: []api.PoolQueue{p}}}, 0)
	for _, want := range []string{"\nns-999 ", "\nns-990 ", "\n... and 990 tenants more\n", "\n20 ", "\n... and 99980 hosts more\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if strings.Contains(text, "ns-989") || strings.Contains(text, "h-020") {
		t.Error("is not cut off")
	}
	if text := Text(Content{Queue: api.Queue{Pools: []api.PoolQueue{{}}}}, 0); !strings.Contains(text, "queue     nobody waits\n") || strings.Contains(text, "PLACE") {
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
		{api.View{AgeSeconds: -1, LastError: "ironic: unreachable"}, "starting: no complete poll of Ironic yet, 0 busy nodes, 0 polls; ironic: unreachable"},
		{api.View{AgeSeconds: 1, Fresh: true, Polls: 1}, "starting: finding out who is busy, 1s old, 0 busy nodes, 1 polls"},
		{api.View{AgeSeconds: 90, Settled: true, Polls: 5, LastError: "500"}, "stale: last complete poll 1m30s ago, 0 busy nodes, 5 polls; 500"},
	} {
		if text, weight := viewText(row.view); text != row.want || weight == usual {
			t.Errorf("%q, weight %d, want %q", text, weight, row.want)
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
	if n := strings.Count(Text(c, 0), "\n"); n != len(lines(c, space{})) {
		t.Errorf("%d line ends for %d lines", n, len(lines(c, space{})))
	}
}

// step feeds a message and returns the model after it.
func step(t *testing.T, m model, msg tea.Msg) (model, tea.Cmd) {
	t.Helper()
	next, cmd := m.Update(msg)
	got, ok := next.(model)
	if !ok {
		t.Fatalf("the model became %T", next)
	}
	return got, cmd
}

func TestLiveModel(t *testing.T) {
	var fails error
	m := newModel(t.Context(), time.Second, func(context.Context) (Content, error) { return example(), fails })
	if v := m.View(); !strings.Contains(v, "asking ...") || !strings.Contains(v, "q quits") {
		t.Errorf("before the first answer: %q", v)
	}
	m, cmd := step(t, m, m.Init()())
	if v := m.View(); !strings.Contains(v, "metal3/host-2") || cmd == nil {
		t.Errorf("after it: %q", v)
	}
	m, cmd = step(t, m, paused{})
	if cmd == nil {
		t.Fatal("no fetch after the pause")
	}
	fails = errors.New("away")
	m, cmd = step(t, m, cmd())
	if v := m.View(); !strings.HasPrefix(v, "away\n") || !strings.Contains(v, "metal3/host-2") || cmd == nil {
		t.Errorf("while it fails: %q", v)
	}
	for _, size := range []tea.WindowSizeMsg{{Width: 20, Height: 6}, {Width: 1, Height: 1}, {Width: 300, Height: 100}} {
		m, _ = step(t, m, size)
		all := strings.Split(m.View(), "\n")
		if size.Height > 2 && len(all) > size.Height {
			t.Errorf("%d lines on a screen of %d", len(all), size.Height)
		}
		for _, l := range all {
			if utf8.RuneCountInString(l) > size.Width {
				t.Errorf("%q is wider than %d", l, size.Width)
			}
		}
	}
	if _, cmd = step(t, m, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")}); cmd == nil || cmd() != tea.Quit() {
		t.Error("q does not quit")
	}
	if _, cmd = step(t, m, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("x")}); cmd != nil {
		t.Error("x does something")
	}
}

func TestLiveEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := Live(ctx, Terminal{In: strings.NewReader(""), Out: io.Discard}, time.Millisecond, func(context.Context) (Content, error) {
		cancel()
		return Content{}, errors.New("away")
	})
	if err != nil {
		t.Errorf("error %v, want none: the end was asked for", err)
	}
}

func TestLiveReturnsTheLastError(t *testing.T) {
	away := errors.New("away")
	in, keys := io.Pipe()
	defer keys.Close()
	asked := 0
	err := Live(t.Context(), Terminal{In: in, Out: io.Discard}, time.Millisecond, func(context.Context) (Content, error) {
		if asked++; asked == 3 {
			go keys.Write([]byte("q"))
		}
		return Content{}, away
	})
	if !errors.Is(err, away) {
		t.Errorf("error %v, want the last one", err)
	}
}

func TestTheServerThatAnsweredIsNamed(t *testing.T) {
	if text := Text(Content{Server: "http://127.0.0.1:8087"}, 0); !strings.Contains(text, "\nserver    http://127.0.0.1:8087\nview ") {
		t.Error(text)
	}
}
