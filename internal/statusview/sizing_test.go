package statusview

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// times counts so many durations within each bucket, and the last of them above all.
func times(in ...uint64) api.Histogram {
	h := api.Histogram{Buckets: make([]uint64, len(api.TimeBuckets()))}
	for i := range h.Buckets {
		if i < len(in) {
			h.Count += in[i]
		}
		h.Buckets[i] = h.Count
	}
	if len(in) > len(h.Buckets) {
		h.Count += in[len(h.Buckets)]
	}
	return h
}

func exampleSizing() api.Sizing {
	return api.Sizing{
		Mode: "fixed",
		Pools: []api.PoolSizing{
			{Limit: 20, Ceiling: 20, Recommended: 25, Verdict: api.SizingRaise, Evidence: "60 boots at 20 slots lost none, and none took longer than without load"},
			{Pool: "rack1", Limit: 1, Ceiling: 1, Verdict: api.SizingUnknown},
		},
		Boots: []api.BootTimes{
			{State: "clean wait", Up: times(0, 1, 2, 7, 15, 30, 5), Failed: 4},
			{State: "clean wait", Group: "rack1", Up: times(0, 0, 0, 0, 0, 1), Failed: 1, Ended: 3},
			{State: "inspect wait", Ended: 2},
			{State: "wait call-back", Failed: 2},
		},
	}
}

func TestSZ1_TheMedianIsBetweenTheBoundsOfItsBucket(t *testing.T) {
	longest := make([]uint64, len(api.TimeBuckets())+1)
	longest[len(longest)-1] = 3
	for _, row := range []struct {
		of   api.Histogram
		want string
	}{
		{times(1), "up to 15s"},
		{times(0, 1), "15s to 30s"},
		{times(0, 0, 0, 1), "60s to 90s"},
		{times(0, 0, 0, 0, 0, 1, 1), "2m to 3m"}, // the lower one of two
		{times(0, 0, 0, 0, 0, 1, 0, 2), "4m to 5m"},
		{times(slices.Concat(make([]uint64, 14), []uint64{1})...), "1h to 2h"},
		{times(longest...), "more than 2h"},
		{api.Histogram{Count: 1}, "more than 2h"}, // of a throttle that has no such buckets
	} {
		if got := medianText(row.of); got != row.want {
			t.Errorf("%v: %s, want %s", row.of.Buckets, got, row.want)
		}
	}
}

func TestBootsOfGroupsAreSummedUp(t *testing.T) {
	given := exampleSizing()
	_ = sizingFields(given)
	if diff := cmp.Diff(exampleSizing(), given); diff != "" {
		t.Errorf("to show the boots has changed them (-want +got):\n%s", diff)
	}
	given.Boots = append(given.Boots, api.BootTimes{State: "clean wait", Up: api.Histogram{Count: 1, Buckets: []uint64{1}}})
	if got := bootsText(bootsByState(given.Boots)[0]); got != "clean wait: 62, median 2m to 3m, 5 failed without agent" {
		t.Errorf("%s", got)
	}
}

// TestSZ4_TheRecommendedLimitIsSeenInABadNight on a small terminal, and boots give way to alarms.
func TestSZ4_TheRecommendedLimitIsSeenInABadNight(t *testing.T) {
	got := strings.Join(strings.Fields(strings.Join(screen(t, night(), 80, 24), " ")), " ")
	if !strings.Contains(got, "limit 20 (fixed), recommended limit: 25. 60 boots at 20 slots lost none") || strings.Contains(got, "median") {
		t.Error(got)
	}
}
