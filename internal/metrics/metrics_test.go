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
)

// example has another number in nearly every place.
func example(t *testing.T) Sources {
	t.Helper()
	var st api.Status
	if err := json.Unmarshal([]byte(text(t, "testdata/status.json")), &st); err != nil {
		t.Fatal(err)
	}
	tally := func(n uint64) ironic.Tally { return ironic.Tally{Requests: 10 * n, Errors: n} }
	return Sources{
		Status: func() api.Status { return st }, Leading: func() bool { return false },
		Ironic: func() ironic.Stats {
			return ironic.Stats{List: tally(1), Node: tally(2), Newest: tally(3), Version: tally(4)}
		},
		Gateway: func() gateway.Stats {
			return gateway.Stats{Passed: 1, Free: 2, Gated: 3, Obscure: 4, Refused: 5, Failed: 6}
		},
		Planned: func() *api.PlanRunning { return &api.PlanRunning{Stuck: true} },
		Certificates: []func() time.Time{
			func() time.Time { return time.Unix(1900000000, 0) },
			func() time.Time { return time.Time{} },
			func() time.Time { return time.Unix(1800000000, 0) },
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

// The file testdata/metrics.txt is what a scrape shows. To renew it: UPDATE_GOLDEN=1 go test ./internal/metrics -run
// Golden, and read the difference.
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
	for when, m := range map[string]*Metrics{"before": shows(api.Status{}), "after": used(example(t))} {
		problems, err := testutil.GatherAndLint(m.registry)
		if err != nil {
			t.Errorf("%s: %v", when, err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s: %s", when, p.Metric, p.Text)
		}
	}
}

// docs/metrics.md has every metric, and nothing else. Each is used by an alert, the dashboard or another page.
func TestEveryMetricIsDocumentedAndUsed(t *testing.T) {
	documented := map[string]bool{}
	for _, name := range regexp.MustCompile("(?m)^\\| `("+namespace+"_[a-z_]+)` \\|").FindAllStringSubmatch(text(t, "../../docs/metrics.md"), -1) {
		documented[name[1]] = true
	}
	families, err := used(example(t)).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	uses := text(t, "../../deploy/components/monitoring/prometheusrule.yaml", "../../deploy/components/monitoring/dashboard.json", "../../docs/troubleshooting.md")
	for _, f := range families {
		name := f.GetName()
		if !strings.HasPrefix(name, namespace) {
			continue
		}
		have[name] = true
		if !regexp.MustCompile(name + `(_bucket)?\b`).MatchString(uses) {
			t.Errorf("no alert, no panel of the dashboard and no row of troubleshooting uses %s", name)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(documented))); diff != "" || len(have) > 45 {
		t.Errorf("%d metrics; docs/metrics.md has a row for each, and no other (-metrics +docs/metrics.md):\n%s", len(have), diff)
	}
}

// text is that of some files.
func text(t *testing.T, files ...string) (all string) {
	t.Helper()
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all += string(content)
	}
	return all
}

// shows are the metrics of a status alone.
func shows(st api.Status) *Metrics {
	m := New()
	m.Read(Sources{Status: func() api.Status { return st }, Leading: func() bool { return true }})
	return m
}

// A value that cannot be a metric fails the scrape, not the process.
func TestWhatIsNoMetricFailsTheScrape(t *testing.T) {
	for _, st := range []api.Status{
		{Version: "\xff"},
		{Turns: api.Turns{Waits: api.WaitHistogram{Bounds: []float64{1, 2}, Counts: []uint64{1}}}},
		{Sizing: api.Sizing{Boots: []api.BootTimes{{State: "clean wait", Up: api.Histogram{Buckets: []uint64{1}}}}}},
	} {
		w := httptest.NewRecorder()
		shows(st).Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		if w.Code != 500 {
			t.Errorf("%d of %+v", w.Code, st)
		}
	}
}

// What is not known, or not there, has no series: 0 would be wrong. What counts has one before its first event, which
// a rate would miss otherwise.
func TestSeriesOfWhatIsThere(t *testing.T) {
	sizing := api.Sizing{
		Pools: []api.PoolSizing{{Limit: 20, Ceiling: 20}, {Pool: "total", Limit: 8, Ceiling: 8, Recommended: 6}}, // a group may have that name
		Boots: []api.BootTimes{{State: "inspect wait", Up: api.NewHistogram()}},
	}
	got := scrape(t, shows(api.Status{View: api.View{AgeSeconds: -1}, Sizing: sizing}))
	for _, name := range []string{"view_age_seconds", "baremetalhosts", "gateway", "ironic_requests", "certificate", "planned_work", `limit_recommended{pool="(total)"}`} {
		if strings.Contains(got, "\n"+namespace+"_"+name) {
			t.Errorf("there is %s", name)
		}
	}
	for _, series := range []string{
		`leading 1`, `limit_ceiling{pool="(total)"} 20`, `limit_ceiling{pool="total"} 8`, `limit_recommended{pool="total"} 6`,
		`boots_without_agent_total{end="failed",group="",state="inspect wait"} 0`,
		`boots_without_agent_total{end="ended",group="",state="inspect wait"} 0`,
		`boot_seconds_count{group="",state="inspect wait"} 0`, `answers_total{reason="full"} 0`,
	} {
		if !strings.Contains(got, "\n"+namespace+"_"+series+"\n") {
			t.Errorf("there is no %s", series)
		}
	}
}

// Planned work is in one state, or in none.
func TestPlannedWorkIsInOneState(t *testing.T) {
	for want, p := range map[string]*api.PlanRunning{`running"} 0 stuck"} 0`: nil, `running"} 1 stuck"} 0`: {}, `running"} 0 stuck"} 1`: {Stuck: true}} {
		m := New()
		m.Read(Sources{Planned: func() *api.PlanRunning { return p }})
		states := regexp.MustCompile(`(?m)planned_work\{state="(.*)$`).FindAllStringSubmatch(scrape(t, m), -1)
		if len(states) != 2 || states[0][1]+" "+states[1][1] != want {
			t.Errorf("%+v: %q, want %s", p, states, want)
		}
	}
}
