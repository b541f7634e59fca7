package server

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// registered is a Server with its own registry, which has nothing else in it.
func registered(t *testing.T, f Decider) (*Server, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	return made(t, f, func(o *Options) { o.Registry = reg }), reg
}

func TestMetricsAreLintedBeforeAndAfterUse(t *testing.T) {
	f := seen()
	s, reg := registered(t, f)
	lint := func(when string) {
		t.Helper()
		problems, err := testutil.GatherAndLint(reg)
		if err != nil {
			t.Errorf("%s: %v", when, err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s: %s", when, p.Metric, p.Text)
		}
	}
	f.status = func() api.Status { return api.Status{View: api.View{AgeSeconds: -1}} }
	lint("before use")
	f.status = exampleStatus
	send(t, s.API(), http.MethodPost, "/v1/isready", goodAsk, jsonType...)
	send(t, s.API(), http.MethodPost, "/v1/isready", "", jsonType...)
	send(t, s.API(), http.MethodGet, "/whatever/somebody/types", "")
	send(t, s.Metrics(), http.MethodGet, "/metrics", "")
	lint("after use")
}

// The file testdata/metrics.txt is what a scrape shows. To renew it: UPDATE_GOLDEN=1 go
// test ./internal/server -run Golden, and read the difference.
func TestGoldenMetrics(t *testing.T) {
	s, _ := registered(t, seen())
	got := send(t, s.Metrics(), http.MethodGet, "/metrics", "").Body.Bytes()
	got = regexp.MustCompile(`goversion="[^"]*"`).ReplaceAll(got, []byte(`goversion="go"`))
	path := filepath.Join("testdata", "metrics.txt")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-%s +scrape):\n%s", path, diff)
	}
}

func TestEveryMetricIsInTheDocs(t *testing.T) {
	s, reg := registered(t, seen())
	send(t, s.API(), http.MethodGet, "/v1/slots", "")
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, f := range families {
		have = append(have, f.GetName())
		if !bytes.Contains(docs, []byte("`"+f.GetName()+"`")) {
			t.Errorf("docs/metrics.md lacks %s: %s", f.GetName(), f.GetHelp())
		}
	}
	// And nothing else: rows of other collectors stand below the mark.
	ours, _, _ := strings.Cut(string(docs), "<!-- /server -->")
	for _, name := range regexp.MustCompile("`(ironic_throttle_[a-z_]+)`").FindAllStringSubmatch(ours, -1) {
		if !slices.Contains(have, name[1]) {
			t.Errorf("docs/metrics.md has %s, which no scrape shows", name[1])
		}
	}
}

func TestRoutesAreAClosedSet(t *testing.T) {
	s, reg := registered(t, seen())
	for _, path := range []string{"/a", "/b", "/v1/status/x", "/v1/holds/ns/host"} {
		send(t, s.API(), http.MethodGet, path, "")
	}
	if n, err := testutil.GatherAndCount(reg, "ironic_throttle_http_request_duration_seconds"); n != 1 || err != nil {
		t.Errorf("%d series, %v; want one for all unknown paths", n, err)
	}
	for _, path := range []string{"/v1/breakers/ironic/reset", "/v1/breakers/group%3Arack1/reset", "/v1/breakers/x/reset", "/v1/breakers/{scope}/reset"} {
		send(t, s.API(), http.MethodGet, path, "")
	}
	if n, err := testutil.GatherAndCount(reg, "ironic_throttle_http_request_duration_seconds"); n != 2 || err != nil {
		t.Errorf("%d series, %v; want one more for all scopes", n, err)
	}
	for _, path := range []string{"/v1/breakers/ironic/trip", "/v1/breakers/group:rack1/trip"} {
		send(t, s.API(), http.MethodPost, path, "")
	}
	if n, err := testutil.GatherAndCount(reg, "ironic_throttle_http_request_duration_seconds"); n != 3 || err != nil {
		t.Errorf("%d series, %v; want one more for another change of all scopes", n, err)
	}
	if body := send(t, s.Metrics(), http.MethodGet, "/metrics", "").Body.String(); !strings.Contains(body, `code="405",route="/v1/breakers/{scope}/reset"`) {
		t.Error("the label of the route is not its pattern")
	}
}

func TestCollectorsOfOthersAreScrapedToo(t *testing.T) {
	polls := prometheus.NewCounter(prometheus.CounterOpts{Name: "ironic_throttle_test_total", Help: "Test."})
	s := made(t, seen(), func(o *Options) { o.Collectors = []prometheus.Collector{polls} })
	if body := send(t, s.Metrics(), http.MethodGet, "/metrics", "").Body.String(); !strings.Contains(body, "ironic_throttle_test_total 0") {
		t.Error("scrape lacks the collector of the options")
	}
	if _, err := New(Options{Decider: seen(), Collectors: []prometheus.Collector{polls, polls}}); err == nil {
		t.Error("one collector twice is no error")
	}
}
