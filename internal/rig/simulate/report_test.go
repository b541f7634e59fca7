package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// smallGrid is a comparison that ends at once.
func smallGrid() Grid {
	g := DefaultGrid()
	g.Options, g.Limits = small(), []int{5}
	return g
}

// runGrid plays a comparison and returns what it says.
func runGrid(t *testing.T, g Grid, asJSON bool) (results []Result, stdout, stderr string) {
	t.Helper()
	var out, notes bytes.Buffer
	results, err := g.Run(t.Context(), Output{Stdout: &out, Stderr: &notes, JSON: asJSON})
	if err != nil {
		t.Fatal(err)
	}
	return results, out.String(), notes.String()
}

// cell returns the words of a row of the table.
func cell(t *testing.T, table, name string) []string {
	t.Helper()
	for line := range strings.Lines(table) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok {
			return strings.Fields(rest)
		}
	}
	t.Fatalf("no row %q in\n%s", name, table)
	return nil
}

func TestInterruptedSaysNothingOfStormsThatDidNotEnd(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		g := smallGrid()
		g.Seeds = []uint{1, 2, 3}
		var out bytes.Buffer
		results, err := g.Run(ctx, Output{Stdout: &out, Stderr: io.Discard, JSON: asJSON})
		if err == nil || err.Error() != "interrupted: 3 of 3 storms did not end and are left out" {
			t.Errorf("error %v", err)
		}
		if out.Len() > 0 || len(results) > 0 {
			t.Errorf("%d results, printed %q", len(results), out.String())
		}
	}
}

// cancelAtLine stops a comparison when its first line is printed.
type cancelAtLine struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (c *cancelAtLine) Write(p []byte) (int, error) {
	c.cancel()
	return c.Buffer.Write(p)
}

func TestInterruptedKeepsStormsThatEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := smallGrid()
	for seed := range uint(200) {
		g.Seeds = append(g.Seeds, seed+2)
	}
	out := cancelAtLine{cancel: cancel}
	results, err := g.Run(ctx, Output{Stdout: &out, Stderr: io.Discard, JSON: true})
	if err == nil || len(results) == 0 || len(results) == len(g.Seeds) {
		t.Fatalf("%d of %d storms, error %v", len(results), len(g.Seeds), err)
	}
	lines := 0
	for line := range strings.Lines(out.String()) {
		lines++
		var r Result
		if err := json.Unmarshal([]byte(line), &r); err != nil || !r.Finished || r.Provisioned != 40 {
			t.Errorf("%v: %s", err, line)
		}
	}
	if lines != len(results) {
		t.Errorf("%d lines for %d storms", lines, len(results))
	}
}

func TestDurationEndsAStormThatIsNotFinished(t *testing.T) {
	whole(t)
	g := smallGrid()
	g.Limits, g.Duration, g.BootCapacity = []int{2, 3, 40}, 90*time.Minute, NoBootLimit
	g.Plot = filepath.Join(t.TempDir(), "a.svg")
	results, table, _ := runGrid(t, g, false)
	if got := []bool{results[0].Finished, results[1].Finished, results[2].Finished}; !slices.Equal(got, []bool{false, false, true}) {
		t.Fatalf("finished: %v", got)
	}
	if got := cell(t, table, "makespan  "); got[0] != "-" || got[1] != "-" || got[2] == "-" {
		t.Errorf("makespans %v", got)
	}
	if got := strings.Join(cell(t, table, "finished"), " "); !strings.Contains(got, "of 40 through") || !strings.HasSuffix(got, "yes") {
		t.Errorf("finished %q", got)
	}
	p := makespans(results)
	if want := "not finished, left out: throttle 2, throttle 3"; !strings.HasSuffix(p.Title, want) || len(p.Lines) != 1 || p.Lines[0].Points[0].X != 40 {
		t.Errorf("the picture says %q and has the lines %v", p.Title, p.Lines)
	}
	if lines := makespans(results[:2]).Lines; len(lines) != 0 {
		t.Errorf("no point at all, and lines %v", lines)
	}
}

func TestNothingMeasuredIsADash(t *testing.T) {
	g := smallGrid()
	g.Hosts, g.Limits, g.Tenants = 4, []int{9}, 1
	results, table, _ := runGrid(t, g, false)
	for _, row := range []string{"slots occupied", "slots really working"} {
		if got := cell(t, table, row); len(got) != 1 || got[0] != "-" {
			t.Errorf("%s: %v, nobody waited", row, got)
		}
	}
	if results[0].SlotUse != 0 {
		t.Errorf("slotUse %v", results[0].SlotUse)
	}
	_, table, _ = runGrid(t, smallGrid(), false)
	if got := cell(t, table, "slots occupied"); got[0] == "-" || got[0] == "0.0" {
		t.Errorf("slots occupied: %v", got)
	}
}

func TestTableTellsWhoWasOvertaken(t *testing.T) {
	var out strings.Builder
	if err := WriteTable(&out, []Result{{Overtaken: 17, Summary: measure.Summary{Limit: 1}}}); err != nil {
		t.Fatal(err)
	}
	if got := cell(t, out.String(), "overtaken within a tenant"); got[0] != "17" {
		t.Errorf("overtaken: %v", got)
	}
}
