package metrics

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
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

// scrape is what /metrics shows of ours. m is linted, too.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	if problems, err := testutil.GatherAndLint(m.registry); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	ours := regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?`+namespace+`_.*\n`).FindAllString(w.Body.String(), -1)
	return regexp.MustCompile(`goversion="[^"]*"`).ReplaceAllString(strings.Join(ours, ""), `goversion="go"`)
}

// The file testdata/metrics.txt is what a scrape shows, in the order of the help and with "metric" for each name. To renew
// it: UPDATE_GOLDEN=1 go test ./internal/metrics -run Golden, and read the difference.
func TestGoldenMetrics(t *testing.T) {
	const path = "testdata/metrics.txt"
	families := strings.Split(scrape(t, used(example(t))), "# HELP ")[1:]
	for i, family := range families {
		name, _, _ := strings.Cut(family, " ")
		families[i] = "# HELP " + strings.ReplaceAll(family, name, "metric")
	}
	slices.Sort(families)
	got := strings.Join(families, "")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(text(t, path), got); diff != "" {
		t.Errorf("a scrape differs (UPDATE_GOLDEN=1 go test ./internal/metrics -run Golden renews the file) (-%s +scrape):\n%s", path, diff)
	}
}

// Each metric is used by an alert or the dashboard; what they and the pages name is a metric.
func TestEveryMetricIsUsed(t *testing.T) {
	const monitoring = "../../deploy/components/monitoring/"
	shown := scrape(t, used(example(t)))
	uses, have := text(t, monitoring+"prometheusrule.yaml", monitoring+"dashboard.json"), map[string]bool{}
	for _, name := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(shown, -1) {
		have[name[1]] = true
		if !regexp.MustCompile(name[1] + `(_bucket)?\b`).MatchString(uses) {
			t.Errorf("no alert and no panel of the dashboard uses %s", name[1])
		}
	}
	if len(have) < 40 || len(have) > 45 {
		t.Errorf("%d metrics", len(have))
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	for _, name := range regexp.MustCompile(namespace+`_[a-z_]+`).FindAllString(uses+text(t, pages...), -1) {
		if !have[strings.TrimSuffix(name, "_bucket")] {
			t.Errorf("an alert, the dashboard or a page names %s, which is no metric", name)
		}
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

// What is not known, or not there, has no series: 0 would be wrong. What counts has one before its first event, which
// a rate would miss otherwise. A value that cannot be a metric fails the scrape, not the process.
func TestSeriesOfWhatIsThere(t *testing.T) {
	st := api.Status{View: api.View{AgeSeconds: -1}, Sizing: api.Sizing{
		Pools: []api.PoolSizing{{Limit: 20, Ceiling: 20}, {Pool: "total", Limit: 8, Ceiling: 8, Recommended: 6}}, // a group may have that name
		Boots: []api.BootTimes{{State: "inspect wait", Up: api.NewHistogram(60)}},
	}}
	m, running := New(), &api.PlanRunning{}
	m.Read(Sources{Status: func() api.Status { return st }, Leading: func() bool { return true }, Planned: func() *api.PlanRunning { return running }})
	got := scrape(t, m)
	for _, name := range []string{"view_age_seconds", "baremetalhosts", "gateway", "ironic_requests", "certificate", `limit_recommended{pool="(total)"}`} {
		if strings.Contains(got, "\n"+namespace+"_"+name) {
			t.Errorf("there is %s", name)
		}
	}
	for _, series := range []string{
		`limit_ceiling{pool="(total)"} 20`, `limit_ceiling{pool="total"} 8`, `limit_recommended{pool="total"} 6`,
		`boots_without_agent_total{end="failed",group="",state="inspect wait"} 0`,
		`boots_without_agent_total{end="ended",group="",state="inspect wait"} 0`,
		`boot_seconds_count{group="",state="inspect wait"} 0`, `planned_work{state="running"} 1`, `planned_work{state="stuck"} 0`,
	} {
		if !strings.Contains(got, "\n"+namespace+"_"+series+"\n") {
			t.Errorf("there is no %s", series)
		}
	}
	if running = nil; !strings.Contains(scrape(t, m), `planned_work{state="running"} 0`) {
		t.Error("planned work that has ended runs")
	}
	st.Version = "\xff"
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if w.Code != 500 {
		t.Errorf("%d of a version that is no text", w.Code)
	}
}
