package simulate

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/svg"
)

// names are the lines of a plot.
func names(p *svg.Plot) (out []string) {
	for _, l := range p.Lines {
		out = append(out, l.Name)
	}
	return out
}

// TestPictureShowsLimitBootsAndLosses: of an adaptive limit, beside a fixed one, on a site that changes.
func TestPictureShowsLimitBootsAndLosses(t *testing.T) {
	whole(t)
	g := smallGrid()
	g.Options, g.Limits, g.LimitModes = changing(), []int{40}, []string{"fixed", "adaptive"}
	g.BootCapacity, g.BootChange = 16, BootChange{8, 20 * time.Minute}
	g.Plot = filepath.Join(t.TempDir(), "a.svg")
	results, err := g.Run(t.Context(), Output{Stdout: io.Discard, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(g.Plot)
	if err != nil {
		t.Fatal(err)
	}
	readable(t, text)
	drawn := panels(results, false)
	slots, boots := drawn[0][0], drawn[1][0]
	if diff := cmp.Diff([]string{
		"throttle: really working", "throttle: occupied",
		"throttle, adaptive: really working", "throttle, adaptive: occupied", "throttle, adaptive: limit in force", "limit 40, the ceiling of adaptive",
	}, names(slots)); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"throttle: hosts that boot at once", "throttle: boots lost so far",
		"throttle, adaptive: hosts that boot at once", "throttle, adaptive: boots lost so far", "boot capacity of the network",
	}, names(boots)); diff != "" {
		t.Errorf("boots (-want +got):\n%s", diff)
	}
	end := ends(results)
	if diff := cmp.Diff([]svg.Point{{X: 0, Y: 16}, {X: 1. / 3, Y: 16}, {X: 1. / 3, Y: 8}, {X: end, Y: 8}}, boots.Lines[4].Points); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
	lost := boots.Lines[1].Points
	for i := 1; i < len(lost); i++ {
		if lost[i].Y < lost[i-1].Y {
			t.Fatalf("lost boots get fewer: %v", lost[i-1:i+1])
		}
	}
	if got := lost[len(lost)-1].Y; got < 1 || got > float64(results[0].FailedWorks) {
		t.Errorf("%v boots lost of %d works that failed", got, results[0].FailedWorks)
	}
}

// TestPictureOfAnOrdinarySiteShowsNoBoots: that of a fixed limit is as it ever was.
func TestPictureOfAnOrdinarySiteShowsNoBoots(t *testing.T) {
	whole(t)
	for _, c := range []struct {
		args string
		rows int
	}{
		{"--hosts 30 --limit 3", 2},
		{"--hosts 30 --limit 3 --boot-capacity 10 --boot-model cliff --limit-mode fixed", 2},
		{"--hosts 30 --limit 3 --boot-model shared", 3},
		{"--hosts 30 --limit 3 --boot-change -1@1m", 3},
		{"--hosts 30 --limit 3 --limit-mode adaptive --boot-capacity -1", 3},
	} {
		g, err := parse(c.args)
		if err != nil {
			t.Fatal(err)
		}
		g.Plot = filepath.Join(t.TempDir(), "a.svg")
		results, _, _ := runGrid(t, g, false)
		text, err := os.ReadFile(g.Plot)
		if err != nil {
			t.Fatal(err)
		}
		readable(t, text)
		if rows := panels(results, false); len(rows) != c.rows {
			t.Errorf("%s: %d rows of plots, want %d", c.args, len(rows), c.rows)
		}
	}
}

func TestCapacityLine(t *testing.T) {
	for _, c := range []struct {
		site bootSite
		want []svg.Point
	}{
		{bootSite{}, nil},
		{bootSite{capacity: 5, then: 5}, []svg.Point{{X: 0, Y: 5}, {X: 2, Y: 5}}},
		{bootSite{capacity: 5, then: 9, at: 3}, []svg.Point{{X: 0, Y: 5}, {X: 2, Y: 5}}},
		{bootSite{capacity: 5, then: 9, at: 1}, []svg.Point{{X: 0, Y: 5}, {X: 1, Y: 5}, {X: 1, Y: 9}, {X: 2, Y: 9}}},
		{bootSite{then: 9, at: 1}, []svg.Point{{X: 1, Y: 9}, {X: 2, Y: 9}}},
		{bootSite{capacity: 5, at: 1}, []svg.Point{{X: 0, Y: 5}, {X: 1, Y: 5}}},
	} {
		if diff := cmp.Diff(c.want, c.site.line(2)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.site, diff)
		}
	}
}
