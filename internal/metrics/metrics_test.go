package metrics

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/snapshot"
)

// example has another number in nearly every place.
func example(t *testing.T) Sources {
	t.Helper()
	text, err := os.ReadFile("testdata/status.json")
	if err != nil {
		t.Fatal(err)
	}
	var st api.Status
	if err := json.Unmarshal(text, &st); err != nil {
		t.Fatal(err)
	}
	tally := func(n uint64) ironic.Tally { return ironic.Tally{Requests: 10 * n, Errors: n} }
	return Sources{
		Status: func() api.Status { return st }, Leading: func() bool { return false },
		Ironic: func() ironic.Stats {
			return ironic.Stats{List: tally(1), Node: tally(2), Newest: tally(3), Version: tally(4)}
		},
		Caches: map[string]func() snapshot.Stats{
			"status": func() snapshot.Stats { return snapshot.Stats{} },
			"nodes": func() snapshot.Stats {
				return snapshot.Stats{Hits: 1, Misses: 2, Errors: 3, Lists: 4}
			},
		},
		Gateway: func() gateway.Stats {
			return gateway.Stats{
				Passed: 1, Free: 2, Gated: 3, Obscure: 4, Refused: 5, Failed: 6, ListHits: 8, ListMisses: 9,
				InFlight: 15, DiskBytes: 20, DiskLimit: 22,
			}
		},
		Planned: func() *api.PlanRunning { return &api.PlanRunning{Stuck: true} },
		Certificates: map[string]func() time.Time{
			"api":     func() time.Time { return time.Unix(1800000000, 0) },
			"gateway": func() time.Time { return time.Unix(1900000000, 0) },
			"none":    func() time.Time { return time.Time{} },
		},
	}
}

// used are metrics after some polls and requests.
func used(s Sources) *Metrics {
	m := New()
	m.Read(s)
	m.Polled(true, 30*time.Millisecond)
	m.Polled(false, 3*time.Second)
	m.Polled(true, 2*time.Second)
	m.requests.WithLabelValues("/v1/isready", "200").Observe(.0003)
	return m
}

// scrape is what /metrics shows of ours.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	ours := regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?`+namespace+`_.*\n`).FindAllString(w.Body.String(), -1)
	return regexp.MustCompile(`goversion="[^"]*"`).ReplaceAllString(strings.Join(ours, ""), `goversion="go"`)
}

// The file testdata/metrics.txt is what a scrape shows. To renew it: UPDATE_GOLDEN=1 go
// test ./internal/metrics -run Golden, and read the difference.
func TestGoldenMetrics(t *testing.T) {
	const path = "testdata/metrics.txt"
	got := scrape(t, used(example(t)))
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("a scrape differs (UPDATE_GOLDEN=1 go test ./internal/metrics -run Golden renews the file) (-%s +scrape):\n%s", path, diff)
	}
}

func TestMetricsAreLintedBeforeAndAfterUse(t *testing.T) {
	before := New()
	before.Read(Sources{Status: func() api.Status { return api.Status{View: api.View{AgeSeconds: -1}} }, Leading: func() bool { return true }})
	for when, m := range map[string]*Metrics{"before": before, "after": used(example(t))} {
		problems, err := testutil.GatherAndLint(m.registry)
		if err != nil {
			t.Errorf("%s: %v", when, err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s: %s", when, p.Metric, p.Text)
		}
	}
}

// docs/metrics.md has every metric, and nothing else.
func TestEveryMetricIsInTheDocs(t *testing.T) {
	docs, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, name := range regexp.MustCompile("(?m)^\\| `("+namespace+"_[a-z_]+)` \\|").FindAllStringSubmatch(string(docs), -1) {
		told[name[1]] = true
	}
	families, err := used(example(t)).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, f := range families {
		if name := f.GetName(); strings.HasPrefix(name, namespace) {
			have[name] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(told))); diff != "" {
		t.Errorf("docs/metrics.md has a row for each metric, and no other (-metrics +docs/metrics.md):\n%s", diff)
	}
}

// A value that cannot be a metric fails the scrape, not the process.
func TestWhatIsNoMetricFailsTheScrape(t *testing.T) {
	for _, st := range []api.Status{
		{Version: "\xff"},
		{Turns: api.Turns{Waits: api.WaitHistogram{Bounds: []float64{1, 2}, Counts: []uint64{1}}}},
	} {
		m := New()
		m.Read(Sources{Status: func() api.Status { return st }, Leading: func() bool { return true }})
		w := httptest.NewRecorder()
		m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		if w.Code != 500 {
			t.Errorf("%d of %+v", w.Code, st)
		}
	}
}

// What nobody has told of has no series; the age of the view is one such.
func TestWhatThereIsNotHasNoSeries(t *testing.T) {
	m := New()
	m.Read(Sources{Status: func() api.Status { return api.Status{View: api.View{AgeSeconds: -1}} }, Leading: func() bool { return true }})
	got := scrape(t, m)
	for _, name := range []string{"view_age_seconds", "baremetalhosts", "host_events", "gateway", "snapshot", "ironic_requests", "certificate"} {
		if strings.Contains(got, namespace+"_"+name) {
			t.Errorf("there is %s", name)
		}
	}
	if !strings.Contains(got, "\nironic_throttle_leading 1\n") {
		t.Error("it does not lead")
	}
}

// TestPlannedWorkIsInOneState, or in none.
func TestPlannedWorkIsInOneState(t *testing.T) {
	for want, p := range map[string]*api.PlanRunning{"0 0": nil, "1 0": {}, "0 1": {Stuck: true}} {
		m := New()
		m.Read(Sources{Planned: func() *api.PlanRunning { return p }})
		var got []string
		for _, state := range []string{"running", "stuck"} {
			_, rest, _ := strings.Cut(scrape(t, m), `ironic_throttle_planned_work{state="`+state+`"} `)
			value, _, _ := strings.Cut(rest, "\n")
			got = append(got, value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+v: %q, want %s", p, got, want)
		}
	}
	m := New()
	m.Read(Sources{})
	if strings.Contains(scrape(t, m), "planned_work{") {
		t.Error("there is a series where nothing is carried out")
	}
}
