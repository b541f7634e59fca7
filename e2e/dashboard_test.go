//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

const monitoringDir = "../deploy/components/monitoring"

// debianProgram finds a program that hack/ironic/install.sh installs.
func debianProgram(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Skipf("no %s on this machine: run hack/ironic/install.sh as root", name)
	}
	return path
}

// alertRules writes the rules as Prometheus reads them: the object less what Prometheus
// Operator wants round them.
func alertRules(t *testing.T, dir string) (file string) {
	t.Helper()
	object, err := os.ReadFile(filepath.Join(monitoringDir, "prometheusrule.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, groups, found := bytes.Cut(object, []byte("\nspec:\n"))
	if !found {
		t.Fatal("the PrometheusRule has no spec")
	}
	file = filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(file, groups, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// prometheus is Debian's, which scrapes a throttle each second and has its rules.
type prometheus struct {
	*testing.T
	url string
	log *child.LogBook
}

func servePrometheus(t *testing.T, scraped string) *prometheus {
	t.Helper()
	program, dir := debianProgram(t, "prometheus"), t.TempDir()
	target, err := url.Parse(scraped)
	if err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs: [{job_name: throttle, static_configs: [{targets: [%q]}]}]
`, alertRules(t, dir), target.Host)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	p := &prometheus{T: t, url: "http://" + address}
	_, p.log = child.Run(t, child.Command{Name: program, Args: []string{
		"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address,
	}})
	poll(t, "Prometheus", func() bool {
		resp, err := http.Get(p.url + "/-/ready")
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}, p.log.String)
	return p
}

// get asks its API.
func (p *prometheus) get(path string, data any) {
	p.Helper()
	resp, err := http.Get(p.url + "/api/v1/" + path)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Status != "success" {
		p.Fatalf("%s: %v %s", path, err, answer.Error)
	}
}

// samples are the values that a query has now; NaN is none.
func (p *prometheus) samples(query string) (n int) {
	p.Helper()
	var data struct {
		Result []struct{ Value [2]any }
	}
	p.get("query?query="+url.QueryEscape(query), &data)
	for _, r := range data.Result {
		if r.Value[1] != "NaN" {
			n++
		}
	}
	return n
}

// TestDashboardShowsData asks each query of the dashboard, of a Prometheus that scrapes the
// throttle of a demo; rules are evaluated meanwhile.
func TestDashboardShowsData(t *testing.T) {
	t.Parallel()
	_, log := child.Run(t, child.Command{
		Name: labBinary, Args: []string{"demo", "--hosts", "40", "--limit", "5", "--failing", "0.2", "--keep"}, Env: child.ProductEnvironment(),
	})
	address := regexp.MustCompile(`http://\S+/metrics`)
	poll(t, "address of /metrics", func() bool { return address.MatchString(log.String()) }, log.String)
	p := servePrometheus(t, address.FindString(log.String()))
	text, err := os.ReadFile(filepath.Join(monitoringDir, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	open := map[string]string{} // queries without an answer, and their panels
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			query := strings.ReplaceAll(target.Expr, "$job", "throttle")
			open[query] = panel.Title
			// A small storm is not enough evidence for a limit, and has no pools.
			if strings.Contains(query, "limit_recommended") || strings.Contains(query, "pool_slots") {
				p.samples(query)
				delete(open, query)
			}
		}
	}
	asked := len(open)
	child.Await(t, 100*time.Millisecond, 4*time.Minute, "data for each query", func() bool {
		for query := range open {
			if p.samples(query) > 0 {
				delete(open, query)
			}
		}
		return len(open) == 0
	}, func() string { return fmt.Sprint(open) })
	if asked < 25 {
		t.Errorf("asked %d queries: the search is broken", asked)
	}
	p.evaluates()
	t.Logf("%d queries", asked)
}

// evaluates demands that each rule was evaluated without an error.
func (p *prometheus) evaluates() {
	p.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	p.get("rules", &data)
	rules := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if rules++; r.Health != "ok" {
				p.Errorf("%s: %s %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	if rules < 20 {
		p.Errorf("%d rules", rules)
	}
}
