package simulate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// standard are the storms for which the times that hosts are told must be right, and odd those of
// which docs/simulate.md shows that they are not: where something stops all hosts for hours, and where a few
// slots of very different length say little.
var (
	standard = []string{
		"--hosts 600",
		"--hosts 600 --via gateway",
		"--hosts 300 --failing 0.2",
		"--hosts 300 --work 10m-60m",
		"--hosts 600 --limit 10",
		"--hosts 600 --limit 40 --boot-capacity 25",
		"--tenant-hosts 1000,30,30",
		"--scenario flapping-bmc",
	}
	odd = []string{
		"--hosts 300 --work 10m-60m --via gateway",
		"--hosts 40 --limit 2",
		"--scenario dead-rack",
		"--scenario bad-image",
	}
)

// What hosts are told of their wait is right as often as it says: what nine of ten are told covers
// 85 to 97 % of the hosts of each standard storm, over three seeds, by the first time that each was told.
// The page shows these figures. make test plays the first four with one seed.
func TestF12_EstimatesAreRight(t *testing.T) {
	whole(t)
	t.Parallel()
	storms, seeds, least := standard[:4], "1", 0.83 // one seed scatters more
	if *everything {
		storms, seeds, least = slices.Concat(standard, odd), "1,2,3", 0.85
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "simulate.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i, args := range storms {
		e := estimatesOf(t, args+" --seed "+seeds)
		if i < len(standard) {
			if e.EstimateMost < least || e.EstimateMost > 0.97 || e.EstimateMostLater < 0.85 {
				t.Errorf("simulate %s: nine of ten are %.1f %%, of all estimates %.1f %%", args, 100*e.EstimateMost, 100*e.EstimateMostLater)
			}
			if e.EstimateHalf < 0.4 || e.EstimateHalf > 0.7 {
				t.Errorf("simulate %s: the half is %.1f %%", args, 100*e.EstimateHalf)
			}
		}
		row := fmt.Sprintf("| %#q | %.0f %% | %.0f %% | %.0f %% |", args, 100*e.EstimateHalf, 100*e.EstimateMost, 100*e.EstimateMostLater)
		if *everything && !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/simulate.md lacks the row\n%s", row)
		}
		t.Log(row)
	}
}

// estimatesOf plays a storm with each of its seeds.
func estimatesOf(t *testing.T, args string) (sum Estimates) {
	t.Helper()
	g, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range g.Storms() {
		r, err := Run(t.Context(), o)
		if err != nil || r.EstimatedWaits == 0 {
			t.Fatalf("simulate %s: %v, %+v", args, err, r.Estimates)
		}
		n := float64(r.EstimatedWaits)
		sum.EstimatedWaits += r.EstimatedWaits
		sum.EstimateHalf += r.EstimateHalf * n
		sum.EstimateMost += r.EstimateMost * n
		sum.EstimateMostLater += r.EstimateMostLater * n
	}
	n := float64(sum.EstimatedWaits)
	sum.EstimateHalf, sum.EstimateMost, sum.EstimateMostLater = sum.EstimateHalf/n, sum.EstimateMost/n, sum.EstimateMostLater/n
	return sum
}
