package statusview

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// example has something in every part.
func example() api.Status {
	return api.Status{
		Version: "v1.2.3", Mode: "observe",
		View: api.View{Fresh: true, Settled: true, AgeSeconds: 2.4, Polls: 12, BusyNodes: 3},
		Slots: api.SlotsView{
			Total: api.Slots{Limit: 20, Occupied: 2, Free: 18, Leased: 1, Booting: 1, Waiting: 7},
			Pools: map[string]api.Slots{"rack1": {Limit: 1, Occupied: 1}},
			Occupants: []api.Occupant{
				{NodeUUID: "u-1", Name: "metal3~host-1", Pool: "rack1", Kind: "adopted", State: "deploying", Busy: true, SinceSeconds: 5400, Stuck: true},
				{Name: "metal3~host-2", Kind: "leased", Op: api.OpProvision, SinceSeconds: 3.2, Counted: true},
			},
		},
		Asks:     []api.Count{{Reason: api.ReasonGranted, Count: 1}, {Reason: api.ReasonObserve, Count: 7}, {Reason: api.ReasonStale}},
		Refusals: []api.Count{{Reason: api.ReasonFull, Count: 7}},
		Totals:   api.Totals{Granted: 1, Adopted: 1, WrittenOff: 1},
		Warnings: []string{"more workers than slots"},
	}
}

func TestText(t *testing.T) {
	want := `throttle  v1.2.3, mode observe
view      fresh, 2s old, 3 busy nodes, 12 polls
slots     2 of 20 occupied, 18 free, 1 leased, 1 booting, 7 waiting
pool      rack1: 1 of 1 occupied, 0 free, 0 leased, 0 booting, 0 waiting
answers   1 granted, 7 observe
refusals  enforce would have said: 7 full
totals    1 granted, 0 finished, 0 expired, 0 refused, 0 vanished, 1 adopted, 0 foreign, 1 written off
warning   more workers than slots

HOST           KIND     OP         STATE      POOL   SINCE    NODE  NOTE
metal3/host-1  adopted  -          deploying  rack1  1h30m0s  u-1   stuck, takes no slot
metal3/host-2  leased   provision  -          -      3s       -
`
	if diff := cmp.Diff(want, Text(example())); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
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
		Slots: api.SlotsView{
			Pools:     map[string]api.Slots{"p\x1b": {}},
			Occupants: []api.Occupant{{Name: "n\x1b]0;x\x07", NodeUUID: "u\n", Kind: "k\t", Op: "o\x00", State: "s\x9b", Pool: "p\v"}},
		},
	}
	for _, r := range Text(s) {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e') {
			t.Fatalf("%q in %q", r, Text(s))
		}
	}
	if n := strings.Count(Text(s), "\n"); n != len(lines(s)) {
		t.Errorf("%d line ends for %d lines", n, len(lines(s)))
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
	m := newModel(t.Context(), time.Second, func(context.Context) (api.Status, error) { return example(), fails })
	if v := m.View(); !strings.Contains(v, "asking ...") || !strings.Contains(v, "q quits") {
		t.Errorf("before the first answer: %q", v)
	}
	m, cmd := step(t, m, m.Init()())
	if v := m.View(); !strings.Contains(v, "metal3/host-2") || cmd == nil {
		t.Errorf("after it: %q", v)
	}
	m, cmd = step(t, m, paused{})
	if cmd == nil {
		t.Fatal("no look after the pause")
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
			if len(l) > size.Width {
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
	err := Live(ctx, Terminal{In: strings.NewReader(""), Out: io.Discard}, time.Millisecond, func(context.Context) (api.Status, error) {
		cancel()
		return api.Status{}, errors.New("away")
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
	err := Live(t.Context(), Terminal{In: in, Out: io.Discard}, time.Millisecond, func(context.Context) (api.Status, error) {
		if asked++; asked == 3 {
			go keys.Write([]byte("q"))
		}
		return api.Status{}, away
	})
	if !errors.Is(err, away) {
		t.Errorf("error %v, want the last one", err)
	}
}
