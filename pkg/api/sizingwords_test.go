package api

import (
	"slices"
	"testing"
)

// TestTheRecommendedLimitIsSaidInALine, and what is in force.
func TestTheRecommendedLimitIsSaidInALine(t *testing.T) {
	const evidence = "boots took 3.1 times as long with 34 at once on 12 Nov; 60 boots at 20 slots lost none"
	const said = " Boots took 3.1 times as long with 34 at once on 12 Nov; 60 boots at 20 slots lost none."
	for _, row := range []struct {
		mode  string
		pools []PoolSizing
		want  []string
	}{
		{"fixed", []PoolSizing{{Limit: 40, Ceiling: 40, Recommended: 25, Verdict: SizingLower, Evidence: evidence}}, []string{"40 (fixed), recommended limit: 25." + said}},
		{"fixed", []PoolSizing{{Limit: 20, Ceiling: 20, Recommended: 25, Verdict: SizingRaise, Evidence: evidence + "."}}, []string{"20 (fixed), recommended limit: 25." + said}},
		{"fixed", []PoolSizing{{Limit: 20, Ceiling: 20, Recommended: 20, Verdict: SizingKeep, Evidence: evidence}}, []string{"20 (fixed): keep." + said}},
		{"fixed", []PoolSizing{{Limit: 20, Ceiling: 20, Verdict: SizingUnknown}}, []string{"20 (fixed): not enough evidence yet."}},
		{"adaptive", []PoolSizing{{Limit: 34, Ceiling: 60, Recommended: 34, Verdict: SizingKeep, Evidence: evidence}}, []string{"34 of at most 60 (adaptive): keep." + said}},
		{"adaptive", []PoolSizing{{Limit: 20, Ceiling: 60, Verdict: SizingUnknown, Evidence: "3 boots have ended"}}, []string{"20 of at most 60 (adaptive): not enough evidence yet. 3 boots have ended."}},
		{"adaptive", []PoolSizing{
			{Limit: 60, Ceiling: 60, Verdict: SizingUnknown},
			{Pool: "rack1", Limit: 8, Ceiling: 8, Verdict: SizingUnknown},
			{Pool: "rack2", Limit: 5, Ceiling: 8, Verdict: SizingUnknown},
			{Pool: "virtual-media", Limit: 9, Ceiling: 9, Recommended: 12, Verdict: SizingRaise, Evidence: "ß is a letter"},
		}, []string{
			"60 of at most 60 (adaptive): not enough evidence yet.", "rack2: 5 of at most 8 (adaptive): not enough evidence yet.",
			"virtual-media: 9 of at most 9 (adaptive): raise. ß is a letter.",
		}},
		{"", nil, nil}, // of a throttle that is older
	} {
		if got := (Sizing{Mode: row.mode, Pools: row.pools}).Lines(); !slices.Equal(got, row.want) {
			t.Errorf("%s %+v:\n%q, want\n%q", row.mode, row.pools, got, row.want)
		}
	}
}
