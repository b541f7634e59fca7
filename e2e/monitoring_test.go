//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

const monitoringDir = "../deploy/components/monitoring"

// alertRules writes the rules as Prometheus reads them: the object less what Prometheus Operator wants round them.
func alertRules(t *testing.T, dir string) (file string) {
	t.Helper()
	object, err := os.ReadFile(filepath.Join(monitoringDir, "prometheusrule.yaml"))
	_, groups, _ := bytes.Cut(object, []byte("\nspec:\n"))
	file = filepath.Join(dir, "rules.yaml")
	if err := errors.Join(err, os.WriteFile(file, groups, 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

// alertTests are those of testdata with the names of the metrics, which they take from the expression of each alert.
func alertTests(t *testing.T, rules string) string {
	t.Helper()
	text, errRules := os.ReadFile(rules)
	tests, err := os.ReadFile("testdata/alerts.yaml")
	if err := errors.Join(errRules, err); err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`ironic_throttle_[a-z_]+`)
	metrics := map[string][]string{} // what stands for a metric, the metric, and so on
	for _, m := range regexp.MustCompile(`(?s)- alert: (\w+)\n.*? expr: (.*?) for: `).FindAllStringSubmatch(string(text), -1) {
		of := []string{"$0", name.FindString(string(text))}
		for _, metric := range name.FindAllString(m[2], -1) {
			if !slices.Contains(of[2:], metric) {
				of = append(of, fmt.Sprint("$", len(of)/2), metric)
			}
		}
		metrics[m[1]] = of
	}
	parts := strings.Split(string(tests), "  - name: ")
	for i, part := range parts {
		alert, _, _ := strings.Cut(part, "\n")
		parts[i] = strings.NewReplacer(metrics[alert]...).Replace(part)
	}
	return strings.Join(parts, "  - name: ")
}

// TestAlertsFireAndStaySilent on series that are made up for each of them.
func TestAlertsFireAndStaySilent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "alerts.yaml"), []byte(alertTests(t, alertRules(t, dir))), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "promtool", "test", "rules", "alerts.yaml")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// servePrometheus starts one, which scrapes a throttle each second and has its rules, and returns its API.
func servePrometheus(t *testing.T, scraped string) (api string) {
	t.Helper()
	dir := t.TempDir()
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
	ports, errPorts := child.FreePorts(1)
	if err := errors.Join(errPorts, os.WriteFile(file, []byte(conf), 0o600)); err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("%s:%d", child.Loopback, ports[0])
	_, log := child.Run(t, child.Command{Name: "prometheus", Args: []string{
		"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address,
	}})
	await(t, "Prometheus", func() bool {
		code, _ := child.Send(t.Context(), http.MethodGet, "http://"+address+"/-/ready", "")
		return code == http.StatusOK
	}, log.Tail)
	return "http://" + address + "/api/v1/"
}

// TestDashboardShowsData asks each query of the dashboard, of a Prometheus that scrapes the throttle of a demo. Rules are
// evaluated meanwhile.
func TestDashboardShowsData(t *testing.T) {
	t.Parallel()
	_, log := child.Run(t, child.Command{
		Name: labBinary, Args: []string{"demo", "--hosts", "40", "--limit", "5", "--failing", "0.2", "--keep"}, Env: child.ProductEnvironment(),
	})
	address := regexp.MustCompile(`http://\S+/metrics`)
	await(t, "address of /metrics", func() bool { return address.MatchString(log.String()) }, log.Tail)
	prometheus := servePrometheus(t, address.FindString(log.String()))
	text, err := os.ReadFile(filepath.Join(monitoringDir, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	open := map[string]string{} // queries without an answer, and their panels
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			query := strings.ReplaceAll(target.Expr, "$job", "throttle")
			// A small storm is not enough evidence for a limit, and has no pools.
			if target.LegendFormat != "recommended" && !strings.HasPrefix(target.LegendFormat, "{{pool}}") {
				open[query] = panel.Title
			}
		}
	}
	asked := len(open)
	child.Await(t, 100*time.Millisecond, 4*time.Minute, "data for each query", func() bool {
		for query := range open {
			_, answer := child.Send(t.Context(), http.MethodGet, prometheus+"query?query="+url.QueryEscape(query), "")
			if regexp.MustCompile(`"value":\[[0-9.]+,"[^N]`).MatchString(answer) { // not NaN
				delete(open, query)
			}
		}
		return len(open) == 0
	}, func() string { return fmt.Sprint(open) })
	_, rules := child.Send(t.Context(), http.MethodGet, prometheus+"rules", "")
	if sound := strings.Count(rules, `"health":"ok"`); asked < 25 || sound < 20 || sound != strings.Count(rules, `"health":`) {
		t.Errorf("%d queries; %d rules are evaluated without an error: %s", asked, sound, rules)
	}
}
