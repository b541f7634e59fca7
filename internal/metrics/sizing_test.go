package metrics

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// of are the metrics of a status of which only the sizing matters.
func of(s api.Sizing) *Metrics {
	m := New()
	m.Read(Sources{Status: func() api.Status { return api.Status{Sizing: s} }, Leading: func() bool { return true }})
	return m
}

// TestBootsThatFailAreCountedFromTheFirstScrapeOn: a rate misses the first event of a series
// that begins with it.
func TestBootsThatFailAreCountedFromTheFirstScrapeOn(t *testing.T) {
	got := scrape(t, of(api.Sizing{
		Mode: "fixed", Pools: []api.PoolSizing{{Limit: 20, Ceiling: 20, Verdict: api.SizingUnknown}},
		Boots: []api.BootTimes{{State: "inspect wait", Up: api.NewHistogram()}},
	}))
	for _, want := range []string{
		`ironic_throttle_boots_without_agent_total{end="failed",group="",state="inspect wait"} 0`,
		`ironic_throttle_boots_without_agent_total{end="ended",group="",state="inspect wait"} 0`,
		`ironic_throttle_boot_seconds_count{group="",state="inspect wait"} 0`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("lacks %s", want)
		}
	}
}

// TestWithoutEvidenceThereIsNoRecommendedLimit, which 0 would be.
func TestWithoutEvidenceThereIsNoRecommendedLimit(t *testing.T) {
	got := scrape(t, of(api.Sizing{Mode: "fixed", Pools: []api.PoolSizing{
		{Limit: 20, Ceiling: 20, Verdict: api.SizingUnknown},
		{Pool: "total", Limit: 8, Ceiling: 8, Recommended: 6, Verdict: api.SizingLower}, // a group may have that name
	}}))
	var recommended []string
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "ironic_throttle_limit_recommended{") {
			recommended = append(recommended, line)
		}
	}
	if len(recommended) != 1 || recommended[0] != "ironic_throttle_limit_recommended{pool=\"total\"} 6\n" {
		t.Errorf("%q", recommended)
	}
	for _, want := range []string{`ironic_throttle_limit_ceiling{pool="(total)"} 20`, `ironic_throttle_limit_ceiling{pool="total"} 8`} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("lacks %s", want)
		}
	}
}

// TestTimesThatAreNoHistogramFailTheScrape and not the process.
func TestTimesThatAreNoHistogramFailTheScrape(t *testing.T) {
	for _, s := range []api.Sizing{
		{Boots: []api.BootTimes{{State: "clean wait", Up: api.Histogram{Buckets: []uint64{1}}}}},
		{Boots: []api.BootTimes{{State: "\xff", Up: api.NewHistogram()}}},
	} {
		w := httptest.NewRecorder()
		of(s).Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		if w.Code != 500 {
			t.Errorf("%d of %+v", w.Code, s)
		}
	}
}
