package statusview

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const someUUID = "3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"

func TestFold(t *testing.T) {
	for _, row := range []struct {
		text  string
		width int
		want  []string
	}{
		{"as wide as it may", 17, []string{"as wide as it may"}},
		{"a node " + someUUID, 43, []string{"a node " + someUUID}},
		{"a node " + someUUID, 42, []string{"a node 3f2b8a6e…"}},
		{"a node " + someUUID, 0, []string{"a node " + someUUID}},
		{"warning   it is broken at blanks alone", 24, []string{"warning   it is broken", "    at blanks alone"}},
		{"warning   it ends after the third line of those that it is given", 20,
			[]string{"warning   it ends", "    after the third", "    line of those t…"}},
		{strings.Repeat("é", 30), 20, []string{strings.Repeat("é", 20), "    " + strings.Repeat("é", 10)}},
		{"too narrow for folds", 10, []string{"too narro…"}},
		{"x", 1, []string{"x"}},
		{"xy", 1, []string{"…"}},
	} {
		var got []string
		for _, l := range fold(line{row.text, alarming}, space{width: row.width}, 4) {
			got = append(got, l.text)
			if l.weight != alarming {
				t.Errorf("%q lost its weight", l.text)
			}
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%q in %d columns (-want +got):\n%s", row.text, row.width, diff)
		}
	}
}

func TestTablesGiveUpWhatMattersLeast(t *testing.T) {
	occupants := []api.Occupant{
		{Name: "metal3~host-1", NodeUUID: someUUID, Kind: "leased", State: "wait call-back", SinceSeconds: 60, Counted: true},
		{Name: "a-namespace-of-many-words~a-host-of-many-words-0017", NodeUUID: someUUID, Kind: "adopted", State: "deploying", Busy: true, Counted: true},
	}
	for _, row := range []struct {
		width int
		want  string // the header and the first host
	}{
		{0, "HOST KIND OP STATE POOL SINCE NODE NOTE; metal3/host-1 leased - wait call-back - 1m0s " + someUUID},
		{150, "HOST KIND OP STATE POOL SINCE NODE NOTE; metal3/host-1 leased - wait call-back - 1m0s " + someUUID},
		{120, "HOST KIND OP STATE POOL SINCE NODE NOTE; metal3/host-1 leased - wait call-back - 1m0s 3f2b8a6e…"},
		{100, "HOST KIND STATE SINCE NODE NOTE; metal3/host-1 leased wait call-back 1m0s 3f2b8a6e…"},
		{80, "HOST STATE SINCE; metal3/host-1 wait call-back 1m0s"},
	} {
		out := occupantLines(occupants, space{width: row.width})
		if got := strings.Join(strings.Fields(out[1].text), " ") + "; " + strings.Join(strings.Fields(out[2].text), " "); got != row.want {
			t.Errorf("%d columns: %q, want %q", row.width, got, row.want)
		}
	}
	if got := occupantLines(occupants, space{width: 50})[3].text; !strings.HasPrefix(got, "a-namespace-o…ny-words-0017 ") {
		t.Errorf("a name is not cut in its middle: %q", got)
	}
	occupants[0].Name = ""
	if got := occupantLines(occupants, space{width: 80})[2].text; !strings.Contains(got, "3f2b8a6e…") {
		t.Errorf("nothing names a host without a name: %q", got)
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
			Name: fmt.Sprintf("metal3~host-%04d", i), NodeUUID: someUUID, Kind: "leased", Op: api.OpProvision, State: "wait call-back", SinceSeconds: 90, Counted: true,
		})
	}
	p := &c.Queue.Pools[0]
	p.Waiting, p.Hosts = 200, nil
	for i := range 20 {
		p.Hosts = append(p.Hosts, api.QueuedHost{Position: i + 1, Name: fmt.Sprintf("metal3~waits-%04d", i), Lane: "healthy", Reason: api.ReasonBreakerOpen, ExpectSeconds: seconds(3600)})
	}
	return c
}

// screen is what a terminal of that size shows of c.
func screen(t *testing.T, c Content, width, height int, keys ...tea.KeyType) []string {
	t.Helper()
	m := newModel(t.Context(), 1, nil)
	m, _ = step(t, m, fetched{content: c})
	m, _ = step(t, m, tea.WindowSizeMsg{Width: width, Height: height})
	for _, k := range keys {
		m, _ = step(t, m, tea.KeyMsg{Type: k})
	}
	rows := strings.Split(m.View(), "\n")
	if len(rows) > height {
		t.Errorf("%dx%d: %d lines", width, height, len(rows))
	}
	for _, row := range rows {
		if n := utf8.RuneCountInString(row); n > width {
			t.Errorf("%dx%d: %d columns: %q", width, height, n, row)
		}
	}
	return rows
}

// evening is night when one breaker alone is open.
func evening() Content {
	c := night()
	c.Status.Breakers, c.Status.Slots.Pools, c.Queue.Pools = c.Status.Breakers[:1], nil, c.Queue.Pools[:1]
	return c
}

func TestNothingImportantIsCut(t *testing.T) {
	always := []string{
		"Nothing starts: breaker ironic is OPEN, probes in 32s; 110 hosts are stopped, the first 20 of them for 19m.",
		"server http://127.0.0.1:8087", "mode observe", "connection refused", "slots 2 of 20 occupied", "queue 200 waiting",
		"breaker group:rack1 OPEN, probes in 14m0s; 2 x Timeout reached", "holds 4 failed", "warning more workers than slots",
		"HOST STATE|HOST KIND", "metal3/host-0000", "wait call-back", "hosts more", "q quits, ↓ shows all",
	}
	for _, row := range []struct {
		content       Content
		width, height int
		also          []string
	}{
		{night(), 80, 24, []string{"breaker image:", "breaker ironic HALF_OPEN"}},
		{night(), 120, 36, []string{"breaker image:", "metal3/waits-0000"}},
		{night(), 200, 52, []string{"breaker image:", "looks like", "turns", "totals", "limit 20 (fixed)", "boots clean wait", "metal3/host-0007", "metal3/waits-0007", someUUID}},
		{evening(), 80, 24, []string{"a DHCP server that is down", "metal3/waits-0000 - breaker-open|metal3/waits-0000 healthy"}},
	} {
		got := strings.Join(screen(t, row.content, row.width, row.height), "\n")
		flat := strings.Join(strings.Fields(got), " ")
		for _, want := range slices.Concat(always, row.also) {
			if !slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool { return strings.Contains(flat, w) }) {
				t.Errorf("%dx%d lacks %q:\n%s", row.width, row.height, want, got)
			}
		}
	}
}

func TestAWideTerminalShowsAll(t *testing.T) {
	c := night()
	got := screen(t, c, 250, 90)
	want := strings.Split(Text(c, 250), "\n")
	if diff := cmp.Diff(want[:len(want)-1], got[:len(got)-2]); diff != "" {
		t.Errorf("the live view is not what status shows (-status +live):\n%s", diff)
	}
	if got[len(got)-1] != "q quits" || !slices.ContainsFunc(got, func(l string) bool { return strings.Contains(l, someUUID) }) {
		t.Errorf("%q", got)
	}
}

func TestTheSmallestTerminalShowsAlarms(t *testing.T) {
	got := strings.Join(screen(t, night(), 60, 10), "\n")
	for _, want := range []string{"Nothing starts", "breaker   group:rack1", "q quits"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	for _, size := range []int{1, 2, 3, 4} {
		screen(t, night(), max(size, 20), max(size, footerLines+1))
	}
}

func TestScrolling(t *testing.T) {
	all := strings.Split(strings.TrimSuffix(Text(night(), 80), "\n"), "\n")
	down, page, up, home := tea.KeyDown, tea.KeyPgDown, tea.KeyUp, tea.KeyHome
	const room = 24 - footerLines
	for _, row := range []struct {
		keys  []tea.KeyType
		first int // line of all that is at the top
	}{
		{[]tea.KeyType{down}, 0},
		{[]tea.KeyType{down, down, down}, 2},
		{[]tea.KeyType{down, down, up}, 0},
		{[]tea.KeyType{page, page}, 23},
		{slices.Repeat([]tea.KeyType{page}, 50), len(all) - room - 1},
	} {
		got := screen(t, night(), 80, 24, row.keys...)
		want := all[max(row.first, 0):min(len(all), row.first+room)]
		if diff := cmp.Diff(want, got[:len(got)-footerLines]); diff != "" {
			t.Errorf("%v (-want +got):\n%s", row.keys, diff)
		}
	}
	if got := screen(t, night(), 80, 24, page, page, home); !strings.HasSuffix(got[len(got)-1], "shows all") {
		t.Errorf("Home does not lead back: %q", got)
	}
}
