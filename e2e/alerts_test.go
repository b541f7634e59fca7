//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
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

// promtool runs Debian's in a folder.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), debianProgram(t, "promtool"), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestAlertsFireAndStaySilent on series that are made up for each of them.
func TestAlertsFireAndStaySilent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	promtool(t, dir, "check", "rules", alertRules(t, dir))
	tests, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "alerts.yaml"), tests, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, dir, "test", "rules", "alerts.yaml")
}

// recording is what a throttle showed at /metrics, look after look: the series of a test for
// promtool.
type recording struct {
	t      *testing.T
	client http.Client
	looks  int
	series map[string][]string
	expect []string // what fires, and when, as promtool has it
}

// between is the time between two looks as promtool is told. The rules are made for hours.
const between = 30 * time.Second

func newRecording(t *testing.T) *recording {
	t.Helper()
	r := &recording{t: t, series: map[string][]string{}}
	r.client.Timeout = 2 * time.Second
	r.client.Transport = &http.Transport{DisableKeepAlives: true}
	return r
}

var seriesLine = regexp.MustCompile(`(?m)^(ironic_throttle_[a-z_]+)(?:\{(.*)\})? (\S+)$`)

// look takes one sample of each series, or none if nobody answers.
func (r *recording) look(url string) {
	r.looks++
	resp, err := r.client.Get(url)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		return
	}
	for _, m := range seriesLine.FindAllStringSubmatch(string(page), -1) {
		if strings.HasPrefix(m[1], "ironic_throttle_http_") || m[1] == "ironic_throttle_warnings" {
			continue // no rule looks at the first; the settings of these tests cause the second
		}
		name := m[1] + `{job="t"` + strings.TrimSuffix(","+m[2], ",") + "}"
		r.series[name] = append(pad(r.series[name], r.looks-1), m[3])
	}
}

// pad is values, with none for the looks in which there was no series.
func pad(values []string, looks int) []string {
	return append(values, slices.Repeat([]string{"_"}, looks-len(values))...)
}

// last is what a series showed at the last look.
func (r *recording) last(series string) string {
	values := r.series[series]
	if len(values) < r.looks {
		return ""
	}
	return values[len(values)-1]
}

// every looks so often until done, and a number of times more.
func (r *recording) every(tick time.Duration, url string, done func() bool, more int) {
	r.t.Helper()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for begun := time.Now(); ; <-ticker.C {
		r.look(url)
		if done() {
			if more--; more < 0 {
				return
			}
		}
		if time.Since(begun) > 5*time.Minute {
			r.t.Fatal("what is recorded does not come to its end")
		}
	}
}

// fires demands that these alerts fire by the last look, and no others.
func (r *recording) fires(alerts ...string) {
	var samples []string
	for _, a := range alerts {
		samples = append(samples, fmt.Sprintf(`{labels: '{alertname="IronicThrottle%s"}', value: 1}`, a))
	}
	r.expect = append(r.expect, fmt.Sprintf(`{eval_time: %s, expr: 'group by (alertname) (ALERTS{alertstate="firing"})', exp_samples: [%s]}`,
		time.Duration(r.looks-1)*between, strings.Join(samples, ", ")))
}

// judge lets promtool say whether it is so. Ever are the alerts that may have fired at all.
func (r *recording) judge(ever ...string) {
	r.t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "rule_files: [rules.yaml]\nevaluation_interval: %[1]s\ntests:\n  - interval: %[1]s\n    input_series:\n", between)
	for name, values := range r.series {
		fmt.Fprintf(&b, "      - {series: '%s', values: '%s'}\n", name, strings.Join(pad(values, r.looks), " "))
	}
	fmt.Fprintf(&b, "    promql_expr_test:\n")
	for _, e := range r.expect {
		fmt.Fprintf(&b, "      - %s\n", e)
	}
	others := fmt.Sprintf(`ALERTS{alertstate="firing", alertname!~"IronicThrottle(%s)"}`, strings.Join(ever, "|"))
	whole := time.Duration(r.looks) * between
	fmt.Fprintf(&b, "      - {eval_time: %s, expr: 'count by (alertname) (max_over_time(%s[%s]))', exp_samples: []}\n", whole, others, whole)
	dir := r.t.TempDir()
	alertRules(r.t, dir)
	if err := os.WriteFile(filepath.Join(dir, "test.yaml"), b.Bytes(), 0o600); err != nil {
		r.t.Fatal(err)
	}
	promtool(r.t, dir, "test", "rules", "test.yaml")
	r.t.Logf("%d series, %d looks: %s for Prometheus", len(r.series), r.looks, whole)
}

// TestAlertsOnStorms records storms and faults. Nothing else runs meanwhile: a storm that gets
// no time looks like a fault.
func TestAlertsOnStorms(t *testing.T) {
	debianProgram(t, "promtool")
	t.Run("the demo is no reason to wake anybody", func(t *testing.T) {
		t.Parallel()
		demoAlerts(t, nil)
	})
	t.Run("a bad image is one", func(t *testing.T) {
		t.Parallel()
		demoAlerts(t, []string{"BreakerOpen"}, "--scenario", "bad-image")
	})
	t.Run("faults", faultAlerts)
}

// demoSpeed makes the time between two looks at a demo a quarter of a second.
const demoSpeed = 120

// demoAlerts plays the demo. These alerts fire while a breaker is open, and none at the end.
func demoAlerts(t *testing.T, alerts []string, args ...string) {
	t.Helper()
	args = append([]string{"demo", "--via", "check", "--hosts", "60", "--limit", "10", "--speed", fmt.Sprint(demoSpeed)}, args...)
	demo, log := child.Run(t, child.Command{Name: labBinary, Args: args, Env: child.ProductEnvironment()})
	address := regexp.MustCompile(`http://\S+/metrics`)
	poll(t, "address of /metrics", func() bool { return address.MatchString(log.String()) }, log.String)
	r := newRecording(t)
	var opened int // looks
	r.every(between/demoSpeed, address.FindString(log.String()), func() bool {
		if r.last(`ironic_throttle_breaker_state{job="t",scope="ironic",state="OPEN"}`) == "1" {
			if opened++; opened == 10 { // for five minutes
				r.fires(alerts...)
			}
		}
		return !demo.Running()
	}, 0)
	r.fires()
	if (opened >= 10) != (len(alerts) > 0) {
		t.Errorf("a breaker was open for %d looks", opened)
	}
	r.judge(alerts...)
}

// faultAlerts: a storm goes well; then BMO dies, a breaker is tripped, Ironic goes, and the
// throttle with it. Each is told, and ends to be when it is over.
func faultAlerts(t *testing.T) {
	t.Parallel()
	s := newScrapedStorm(t, 12)
	r := newRecording(t)
	looks := func(n int) {
		t.Helper()
		r.every(200*time.Millisecond, s.at.Metrics+"/metrics", func() bool { return true }, n)
	}
	s.await("host that is done", func() bool { return s.provisioned() > 0 }, s.log.Tail)
	looks(20) // 10 minutes
	r.fires()

	s.endBMO()
	looks(40) // 20 minutes
	r.fires("NobodyAsks")

	var answer struct{}
	s.cli(&answer, "breakers", "trip", "ironic")
	looks(6)
	r.fires("BreakerOpen", "NobodyAsks")

	s.cli(&answer, "breakers", "reset", "ironic")
	s.endIronic()
	poll(t, "stale view", func() bool { looks(1); return !s.status().View.Fresh }, s.log.String)
	looks(13)
	r.fires("NobodyAsks", "ViewStale")

	s.kill()
	looks(36) // what is gone is so after five minutes
	r.fires("Absent")
	r.judge("Absent", "BreakerOpen", "NobodyAsks", "ViewStale")
}
