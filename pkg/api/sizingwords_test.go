package api

import (
	"slices"
	"testing"
)

func TestALimitIsToldWhereItIsOrShouldBeAnotherThanSet(t *testing.T) {
	got := Sizing{Mode: LimitAdaptive, Pools: []PoolSizing{
		{Limit: 40, Ceiling: 40, Recommended: 25, Verdict: SizingLower, Evidence: "60 boots at 20 slots lost none"},
		{Pool: "kept", Limit: 20, Ceiling: 20, Recommended: 20, Verdict: SizingKeep, Evidence: "e"},
		{Pool: "unknown", Limit: 20, Ceiling: 20, Verdict: SizingUnknown},
		{Pool: "rack2", Limit: 5, Ceiling: 8, Recommended: 5, Verdict: SizingUnknown},
	}}.Lines()
	want := []string{"40, recommended 25 (60 boots at 20 slots lost none)", "rack2: 5 of at most 8 (not enough evidence yet)"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
