package deploytest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// What goes with Prometheus and Grafana. That rules and queries say what they should is a
// matter of e2e, where a Prometheus is asked.

// monitored runs check on every case that is scraped.
func monitored(t *testing.T, check func(*testing.T, manifest)) {
	t.Helper()
	found := 0
	each(t, func(t *testing.T, m manifest) {
		if len(m.kind("ServiceMonitor")) > 0 {
			found++
			check(t, m)
		}
	})
	if found < 2 {
		t.Errorf("%d cases are scraped: the search is broken", found)
	}
}

// dashboard is the part of Grafana's that matters here.
type dashboard struct {
	Title  string
	Panels []struct {
		ID      int
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ RefID, Expr string }
	}
}

func dashboardOf(t *testing.T, m manifest) (d dashboard) {
	t.Helper()
	var data corev1.ConfigMap
	m.one(t, "ConfigMap", "ironic-throttle-dashboard").into(t, &data)
	if data.Labels["grafana_dashboard"] != "1" || len(data.Data) != 1 {
		t.Errorf("Grafana's sidecar does not find it: labels %v", data.Labels)
	}
	if err := json.Unmarshal([]byte(data.Data["ironic-throttle.json"]), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestAlertsAndDashboardNameMetrics: what names a metric that does not exist never fires, or
// shows nothing.
func TestAlertsAndDashboardNameMetrics(t *testing.T) {
	page := read(t, "../../../docs/metrics.md")
	monitored(t, func(t *testing.T, m manifest) {
		for _, text := range [][]byte{m.one(t, "PrometheusRule", throttle).text, m.one(t, "ConfigMap", "ironic-throttle-dashboard").text} {
			names := regexp.MustCompile(`ironic_throttle_[a-z_]+`).FindAllString(string(text), -1)
			if len(names) < 10 {
				t.Fatalf("found %d metrics: the search is broken", len(names))
			}
			for _, name := range names {
				if name = strings.TrimSuffix(name, "_bucket"); !strings.Contains(page, "`"+name+"`") {
					t.Errorf("%s is not in docs/metrics.md", name)
				}
			}
		}
	})
}

// TestEveryAlertIsSeenToFireAndToStaySilent: promtool runs the tests in e2e.
func TestEveryAlertIsSeenToFireAndToStaySilent(t *testing.T) {
	tests := read(t, "../../../e2e/testdata/alerts.yaml")
	rules := string(build(t, "testdata/everything").one(t, "PrometheusRule", throttle).text)
	alerts := regexp.MustCompile(`alert: (\S+)\n`).FindAllStringSubmatch(rules, -1)
	for _, alert := range alerts {
		_, own, found := strings.Cut(tests, "- name: "+alert[1]+"\n")
		own, _, _ = strings.Cut(own, "\n  - name: ")
		silent := regexp.MustCompile(`exp_samples: (&nothing|\*nothing)|exp_samples: \[\{labels: '\{alertname="([^"]+)"`).FindStringSubmatch(own)
		if !found || silent == nil || silent[2] == alert[1] || !strings.Contains(own, `alertname="`+alert[1]+`"`) {
			t.Errorf("%s: no test in which it is silent first and fires then", alert[1])
		}
	}
	if len(alerts) < 19 {
		t.Errorf("found %d alerts: the search is broken", len(alerts))
	}
}

func TestDashboardIsWhole(t *testing.T) {
	d := dashboardOf(t, build(t, "testdata/everything"))
	var ids []int
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		ids = append(ids, p.ID)
		if p.Title == "" || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q: %+v", p.ID, p.Title, p)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[at] != "" {
					t.Fatalf("%q lies over %q", p.Title, taken[at])
				}
				taken[at] = p.Title
			}
		}
		for _, target := range p.Targets {
			if !strings.Contains(target.Expr, `{job=~"$job"`) {
				t.Errorf("%q: %s does not look at one throttle", p.Title, target.Expr)
			}
		}
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != len(d.Panels) || len(ids) < 10 {
		t.Errorf("%d panels, their numbers are %v", len(d.Panels), ids)
	}
}

// TestPrometheusKnowsWhomItScrapes: it holds the certificate against a name that this is
// for, wherever the throttle is, and nobody but who was given the right reads /metrics.
func TestPrometheusKnowsWhomItScrapes(t *testing.T) {
	monitored(t, func(t *testing.T, m manifest) {
		c := loaded(t, m)
		if !c.MetricsGuarded() {
			t.Error("/metrics is open")
		}
		endpoint := spec(m.one(t, "ServiceMonitor", throttle))["endpoints"].([]any)[0].(map[string]any)
		tls := endpoint["tlsConfig"].(map[string]any)
		service := m.one(t, "Service", "ironic-throttle-metrics")
		if name := service.Name + "." + service.Namespace + ".svc"; endpoint["scheme"] != "https" || tls["serverName"] != name {
			t.Errorf("%v of %v is scraped, the Service is %s", endpoint["scheme"], tls["serverName"], name)
		}
		d, _ := m.deployment(t)
		secret := tls["ca"].(map[string]any)["secret"].(map[string]any)["name"]
		if !slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == secret }) {
			t.Errorf("the authority is looked for in the Secret %v", secret)
		}
		for _, o := range m.kind("Certificate") {
			if s := spec(o); o.Name == throttle && (!slices.Contains(s["dnsNames"].([]any), tls["serverName"]) || s["secretName"] != secret) {
				t.Errorf("the certificate is for %v, in %v", s["dnsNames"], s["secretName"])
			}
		}
		var reader rbacv1.ClusterRole
		m.one(t, "ClusterRole", "ironic-throttle-metrics-reader").into(t, &reader)
		if r := reader.Rules; len(r) != 1 || !slices.Equal(r[0].NonResourceURLs, []string{"/metrics"}) || !slices.Equal(r[0].Verbs, []string{"get"}) {
			t.Errorf("%+v", r)
		}
		for _, o := range m.kind("ClusterRoleBinding") {
			if strings.Contains(string(o.text), "ironic-throttle-metrics-reader") {
				t.Errorf("%s gives it away", o)
			}
		}
	})
}
