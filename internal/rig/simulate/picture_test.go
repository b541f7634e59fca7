package simulate

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/svg"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/svg/svgtest"
)

// readable reads a picture, in which nothing overlaps, is cut off or too pale.
func readable(t *testing.T, text []byte) *svgtest.Drawing {
	t.Helper()
	d, err := svgtest.Read(text)
	if err != nil {
		t.Fatalf("svg: %v", err)
	}
	for _, fault := range d.Faults() {
		t.Error(fault)
	}
	return d
}

func TestPictures(t *testing.T) {
	g := DefaultGrid()
	g.Hosts, g.Limits, g.Failing, g.Policies = 30, []int{3, 6}, 0.2, []string{"throttle", "bmo"}
	g.Plot = filepath.Join(t.TempDir(), "a.svg")
	results, err := g.Run(t.Context(), Output{Stdout: io.Discard, Stderr: io.Discard, Version: "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	draw := func(name string, results []Result) []byte {
		path := filepath.Join(t.TempDir(), name)
		g.Plot = path
		if err := g.writePicture("v1.2.3", results); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	picture, err := os.ReadFile(g.Plot)
	if err != nil {
		t.Fatal(err)
	}
	readable(t, picture)
	page := draw("a.html", results)
	for _, want := range []string{"Slots in use over time, limit 3, seed 1 (30 hosts", "Mean wait by tenant", "Mean wait by errors", "Makespan against limit", "ironic-throttle-lab v1.2.3 simulate --hosts=30 --limit=3,6 --failing=0.2 --policy=throttle,bmo",
		"20 % of the hosts broken", "a network made for the limit", "each limit has a network made for it", "hosts gather errors", "limit 6", "bmo: really working", "hours"} {
		if !bytes.Contains(picture, []byte(want)) || !bytes.Contains(page, []byte(want)) {
			t.Errorf("%q is not in both pictures", want)
		}
	}
	for _, want := range []string{"<table>", "<svg", "ABOVE"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("%q is not in the page", want)
		}
	}
	if d := readable(t, draw("one.svg", results[:1])); d.Width < 700 || d.Height < 350 {
		t.Errorf("a picture of %v by %v points", d.Width, d.Height)
	}
	if !bytes.Contains(page, picture) {
		t.Error("the page has another picture")
	}
	if !bytes.Equal(picture, draw("b.svg", results)) || !bytes.Equal(page, draw("b.html", results)) {
		t.Error("drawn twice, and different")
	}
}

func TestPictureOfNothing(t *testing.T) {
	g := DefaultGrid()
	g.Hosts, g.Limits, g.Tenants, g.Duration = 1, []int{1}, 1, time.Nanosecond
	g.Plot = filepath.Join(t.TempDir(), "a.svg")
	if _, err := g.Run(t.Context(), Output{Stdout: io.Discard, Stderr: io.Discard}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(g.Plot)
	if err != nil {
		t.Fatal(err)
	}
	readable(t, text)
}

// TestPictureShowsEachCurve counts what a crowded picture draws: many tenants, all
// policies, and the peak of one far above the limit, so that the axis is logarithmic.
func TestPictureShowsEachCurve(t *testing.T) {
	whole(t)
	g := DefaultGrid()
	g.Hosts, g.Limits, g.Tenants, g.Failing, g.Policies = 60, []int{2, 5}, 20, 0.3, []string{"throttle", "bmo"}
	g.Workers = 60
	g.Plot = filepath.Join(t.TempDir(), "a.svg")
	results, err := g.Run(t.Context(), Output{Stdout: io.Discard, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(g.Plot)
	if err != nil {
		t.Fatal(err)
	}
	d := readable(t, text)
	drawn := map[string]int{}
	for _, s := range d.Shapes {
		if s.Kind != "line" && s.Kind != "rect" {
			drawn[s.Kind+" "+s.Colour+" "+s.Dashes]++
		}
	}
	// Each line stands in its legend too. Two limits over time, and the makespans.
	want := map[string]int{"polyline #1e1e1e 6 3": 4}
	for policy, colour := range map[measure.Policy]string{
		measure.PolicyThrottle: "#0072b2", measure.PolicyBMO: "#d55e00",
	} {
		want["polyline "+colour+" "] = 4 + 2
		want["circle "+colour+" "] = 2 + 1
		if policy == measure.PolicyThrottle {
			want["polyline "+colour+" 1.5 2"] = 4
		}
	}
	if diff := cmp.Diff(want, drawn); diff != "" {
		t.Errorf("drawn (-want +got):\n%s", diff)
	}
	rows := panels(results, false)
	for _, p := range []*svg.Plot{rows[0][0], rows[1][0]} {
		if !p.LogY || p.YLabel != "hosts (logarithmic)" {
			t.Errorf("%s: not logarithmic", p.Title)
		}
	}
	if bars := rows[2][0]; len(bars.Groups) != maxGroups || len(bars.Bars) != 2 || !strings.HasSuffix(bars.Title, "(the first 12 of 20)") {
		t.Errorf("waits by tenant: %s, %d groups, %d bars", bars.Title, len(bars.Groups), len(bars.Bars))
	}
}

// TestHeadingFits: the lines above a picture are within it, and play it again.
func TestHeadingFits(t *testing.T) {
	g, err := parse("--hosts 50 --limit 5,10 --seed 1,2 --tenant-weights tenant-1=3,tenant-2=0.5 --failing-cap 2 --work 10m-60m --errors-untold " +
		"--boot-capacity -1 --trouble bmo@1h+5m,throttle@2h+30s,ironic@3h+10m,bmo@4h+5m,throttle@5h+30s,ironic@6h+10m,bmo@7h+5m --plot x.svg --speed 3")
	if err != nil {
		t.Fatal(err)
	}
	results := []Result{{Seed: 1}, {Seed: 2}}
	lines := g.heading("", results)
	again, err := parse(strings.TrimPrefix(lines[0], "ironic-throttle-lab dev simulate "))
	if err != nil {
		t.Fatalf("%v: %q", err, lines[0])
	}
	if diff := cmp.Diff(g.Storms(), func() []Options { again.Plot = g.Plot; return again.Storms() }()); diff != "" {
		t.Errorf("the flags of the heading play another storm:\n%s", diff)
	}
	sheet := svg.Sheet{Heading: lines}
	var drawn []string
	for _, text := range readable(t, sheet.SVG()).Texts {
		drawn = append(drawn, text.Content)
	}
	whole := strings.Join(drawn, " ")
	if whole != strings.Join(lines, " ") || len(drawn) <= len(lines) {
		t.Errorf("drawn: %q", drawn)
	}
	for _, want := range []string{"Curves over time: seed 1.", "the mean of 2 seeds", "boots any number at once", "and 1 more"} {
		if !strings.Contains(whole, want) {
			t.Errorf("%q is not in %q", want, whole)
		}
	}
}
