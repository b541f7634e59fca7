package limits

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// tiny is a cell whose storms take no time.
func tiny(halved bool) Cell {
	return Cell{Model: fakeironic.BootCliff, Capacity: 6, Failing: 0.1, Hosts: 24, Halved: halved}
}

func TestCells(t *testing.T) {
	all := Cells(200, 3000)
	seen := map[string]bool{}
	for _, c := range all {
		if seen[c.String()] {
			t.Errorf("%s is there twice", c)
		}
		seen[c.String()] = true
		o := c.Storm(c.Ceiling(), 1)
		if err := o.Validate(); err != nil {
			t.Errorf("%s: %v", c, err)
		}
		if c.Halved != (o.BootChange.Capacity > 0) || c.Halved && (c.AtEnd().Halved || c.AtEnd().Capacity != o.BootChange.Capacity) {
			t.Errorf("%s: changes to %v, at the end %s", c, o.BootChange, c.AtEnd())
		}
	}
	if len(all) != 108 || !seen["cliff-25-0.1-3000-halved"] || !seen["shared-any-0-200"] || seen["cliff-any-0-200-halved"] {
		t.Errorf("%d cells: %v", len(all), all)
	}
	if got := len(Choose(all, []string{"cliff-25-0.1-", "shared-any"})); got != 4+6 {
		t.Errorf("%d cells chosen, want 10", got)
	}
	if got := len(Choose(all, nil)); got != len(all) {
		t.Errorf("%d cells chosen, want all", got)
	}
}

// TestTheTableIsKept: what was written is read, and nothing else.
func TestTheTableIsKept(t *testing.T) {
	want := Table{tiny(false): {20: {100.5, 99}, 8: {80}}, tiny(true): {20: {130}}}
	var text strings.Builder
	for c, f := range want {
		if err := Append(&text, c, f); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadTable(strings.NewReader(text.String()))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
	for text, want := range map[string]string{
		`{"cell":{"hosts":1},"fixed":{}}`:                                       "entry 1: fixed: must name at least one limit",
		`{"cell":{"hosts":1},"fixed":{"5":[0]}}`:                                "entry 1: fixed: limit 5: makespans [0]",
		`{"cell":{"hosts":1},"fixed":{"0":[9]}}`:                                "entry 1: fixed: limit 0",
		`{"cell":{"hosts":1},"fixed":{"5":[]}}`:                                 "entry 1: fixed: limit 5: makespans []",
		`{"cell":{"hosts":1},"fixed":{"5":[7]}}` + "\n" + `{"cell":{"host":1}}`: `entry 2: json: unknown field "host"`,
		`{"cell"`: "entry 1: unexpected EOF",
	} {
		if _, err := ReadTable(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	halved := tiny(true)
	if diff := cmp.Diff([]Cell{halved.AtEnd()}, want.Missing([]Cell{tiny(false), halved})); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// TestTheTableOfTheGrid: the file that hack/limits reads can be read, and knows good limits of each cell in it.
func TestTheTableOfTheGrid(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "fixed.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := ReadTable(f)
	if err != nil {
		t.Fatal(err)
	}
	for c, fixed := range table {
		if limit, _ := fixed.Best(c.Ceiling()); limit == 0 || len(fixed[usual]) == 0 || len(fixed) < 3 {
			t.Errorf("%s: best limit %d of %v, %d is among them: %v", c, limit, fixed.limits(), usual, len(fixed[usual]) > 0)
		}
	}
	if missing := table.Missing(Cells(200)); len(missing) > 0 {
		t.Errorf("missing: %v", missing)
	}
}

func TestBestAndRight(t *testing.T) {
	f := Fixed{10: {200, 202}, 20: {104}, 25: {100, 90, 110}, 32: {103}, 40: {140}, 50: {80}}
	if limit, makespan := f.Best(49); limit != 25 || makespan != 100 {
		t.Errorf("best %d, %v; want 25, 100", limit, makespan)
	}
	if limit, _ := f.Best(200); limit != 50 {
		t.Errorf("best %d, want 50", limit)
	}
	if limit, _ := (Fixed{}).Best(9); limit != 0 {
		t.Errorf("best %d of none", limit)
	}
	for limit, want := range map[int]bool{15: false, 16: true, 20: true, 30: true, 38: true, 39: false, 60: false} {
		if got := f.Right(limit, 49); got != want {
			t.Errorf("%d is right: %v, want %v", limit, got, want)
		}
	}
	if !f.Right(70, 50) {
		t.Error("70 is wrong where the ceiling is the best, and raising it is recommended")
	}
}

func TestSettled(t *testing.T) {
	step := time.Unix(1000, 0)
	windows := func(limits ...int) (out []sizing.Window) {
		for i, l := range limits {
			out = append(out, sizing.Window{At: step.Add(time.Duration(i) * time.Minute), Limit: l}) // the first is not after it
		}
		return out
	}
	for _, c := range []struct {
		limits []int
		want   int
	}{
		{nil, -1},
		{[]int{50, 50, 50}, -1},
		{[]int{50, 50, 50, 50}, 0},
		{[]int{80, 80, 40, 20, 25, 24, 26, 25}, 2},
		{[]int{80, 80, 80, 80, 20, 20, 20, 20}, 3},
		{[]int{80, 30, 40, 50, 60, 70}, 1},
	} {
		if got := settled(windows(c.limits...), step); got != c.want {
			t.Errorf("%v: settled after %d windows, want %d", c.limits, got, c.want)
		}
	}
}

// TestJudge: every bound, kept and broken.
func TestJudge(t *testing.T) {
	cell := func(hosts int) Cell { return Cell{Model: fakeironic.BootCliff, Capacity: 10, Hosts: hosts} }
	halved, unknown := cell(104), cell(200)
	halved.Halved = true
	table := Table{
		cell(100): {20: {100, 110}, 40: {50}},                        // 40 is the best
		cell(102): {20: {100, 120}, 40: {150}},                       // the usual one is
		halved:    {20: {100}, 13: {90}}, halved.AtEnd(): {8: {100}}, // and is another site in the end
	}
	run := func(seed uint64, makespan float64, recommended int) Run {
		return Run{Seed: seed, Makespan: makespan, Recommended: recommended, Peak: 50, Highest: 50, LimitAtEnd: 40, LimitMean: 30, Settled: -1}
	}
	good := func() []Case {
		step := run(1, 90, 9)
		step.Settled = 5
		return []Case{
			{cell(100), []Run{run(1, 52, 45), run(2, 60, 0), run(3, 50, 20)}},
			{cell(102), []Run{run(1, 105, 0), run(2, 126, 0)}},
			{halved, []Run{step}},
			{unknown, []Run{run(1, 1, 1)}},
		}
	}
	near := cmpopts.EquateApprox(0, 1e-9)
	found, none := Plan{Table: table}.Judge(good())
	want := []Finding{
		{Cell: cell(100), Best: 40, Makespan: 50, Usual: 2.1, Median: 1.04, Worst: 1.2, LimitMean: 30, LimitAtEnd: 40, Recommended: 32.5, Numbers: 2, Right: 1, Judged: true, Settled: -1},
		{Cell: cell(102), Best: 20, Makespan: 110, Usual: 1, Median: 1.05, Worst: 126. / 110, OverUsual: 1.05, LimitMean: 30, LimitAtEnd: 40, Judged: true, Settled: -1},
		{Cell: halved, Best: 13, Makespan: 90, Usual: 100. / 90, Median: 1, Worst: 1, LimitMean: 30, LimitAtEnd: 40, Recommended: 9, Numbers: 1, Right: 1, Judged: true, Settled: 5},
	}
	if diff := cmp.Diff(want, found, near); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Cell{unknown}, none); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Summary{Cells: 3, Median: 3, Worst: 3, UsualBest: 1, Usual: 1, Numbers: 2, Right: 2, Stepped: 1, Settled: 1}, Summarize(found)); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if !Summarize(found).Kept() {
		t.Error("all bounds are kept")
	}
	for word, change := range map[string]func([]Case){
		"median":            func(c []Case) { c[0].Runs[0].Makespan = 56 },
		"worst":             func(c []Case) { c[0].Runs[1].Makespan = 68 },
		"slower than 20":    func(c []Case) { c[1].Runs[1].Makespan = 127 },
		"recommended":       func(c []Case) { c[2].Runs[0].Recommended = 13 },
		"settled":           func(c []Case) { c[2].Runs[0].Settled = 6 },
		"ABOVE THE CEILING": func(c []Case) { c[0].Runs[2].Peak = 51 },
	} {
		cases := good()
		change(cases)
		found, none := Plan{Table: table}.Judge(cases)
		if Summarize(found).Kept() {
			t.Errorf("%s: all bounds are kept", word)
		}
		var out strings.Builder
		if err := Write(&out, found, none); err != nil {
			t.Fatal(err)
		}
		if head, rows, _ := strings.Cut(out.String(), "\n"); !strings.Contains(head, "recommended") || strings.Count(rows, "  "+word+"\n") != 1 || !strings.Contains(rows, unknown.String()+": no fixed limits are known") {
			t.Errorf("%q is not once in\n%s", word, out.String())
		}
	}
}

// TestTinyCellsArePlayed: swept, then played cold and warm, always the same; never above the ceiling.
func TestTinyCellsArePlayed(t *testing.T) {
	cells := []Cell{tiny(false), tiny(true)}
	table := Table{}
	err := Sweep(t.Context(), table.Missing(cells), 1, func(c Cell, f Fixed) error {
		table[c] = f
		return nil
	})
	if err != nil || len(table) != 3 {
		t.Fatalf("%d cells swept, %v", len(table), err)
	}
	for c, f := range table {
		if limit, _ := f.Best(c.Ceiling()); limit == 0 || len(f[usual]) != 1 {
			t.Errorf("%s: best %d of %v", c, limit, f)
		}
	}
	for _, warm := range []int{0, 24} {
		plan := Plan{Cells: cells, Seeds: 2, Warm: warm, Table: table}
		var over atomic.Int64
		cases, err := plan.Play(t.Context(), &over)
		if err != nil || over.Load() != 4 {
			t.Fatalf("%d storms, %v", over.Load(), err)
		}
		again, err := plan.Play(t.Context(), nil)
		if diff := cmp.Diff(cases, again); diff != "" || err != nil {
			t.Errorf("played again, %v:\n%s", err, diff)
		}
		found, unknown := plan.Judge(cases)
		if len(found) != 2 || len(unknown) > 0 || Summarize(found).Above > 0 {
			t.Errorf("warm %d: %+v, unknown %v", warm, found, unknown)
		}
		for _, f := range found {
			if f.Worst < 0.8 || f.Worst > 3 || f.LimitMean < 1 || f.LimitMean > 12 {
				t.Errorf("warm %d: %+v", warm, f)
			}
		}
	}
}

// TestPlayEndsWithItsContext, and says nothing of storms that did not end.
func TestPlayEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	plan := Plan{Cells: []Cell{tiny(false)}, Seeds: 1}
	if cases, err := plan.Play(ctx, nil); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) || len(cases) > 0 {
		t.Errorf("play: %v, %v", cases, err)
	}
	err := Sweep(ctx, plan.Cells, 1, func(Cell, Fixed) error { t.Error("swept"); return nil })
	if err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("sweep: %v", err)
	}
	bad := Cell{Model: "steep", Capacity: simulate.NoBootLimit, Hosts: 4}
	if _, err := (Plan{Cells: []Cell{bad}, Seeds: 1}).Play(t.Context(), nil); err == nil || !strings.Contains(err.Error(), `steep-any-0-4, seed 1: --boot-model "steep"`) {
		t.Errorf("play: %v", err)
	}
}
