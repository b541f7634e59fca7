package deploytest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// spec is that of an object whose type we do not have.
func spec(o *unstructured.Unstructured) map[string]any { return o.Object["spec"].(map[string]any) }

// TestGrafanaFindsTheDashboard: each query looks at one throttle. e2e asks a Prometheus, and has promtool see each alert
// fire and stay silent.
func TestGrafanaFindsTheDashboard(t *testing.T) {
	m := kustomize(t, casesDir+"/everything")
	dashboard := one[corev1.ConfigMap](t, m, "ConfigMap", "ironic-throttle-dashboard")
	shown := dashboard.Data["ironic-throttle.json"]
	if all, own := strings.Count(shown, `"expr"`), strings.Count(shown, `{job=~\"$job\"`); dashboard.Labels["grafana_dashboard"] != "1" || all < 10 || own < all {
		t.Errorf("Grafana finds %d queries by the labels %v, %d of one throttle", all, dashboard.Labels, own)
	}
}

// TestCertificatesAreRenewedInTime: clients have a copy of the authority that nobody renews, and a new key would make
// the copy useless at the first renewal.
func TestCertificatesAreRenewedInTime(t *testing.T) {
	m := kustomize(t, casesDir+"/everything")
	lasts := map[string]time.Duration{}
	for _, o := range m.kind("Certificate") {
		for _, field := range []string{"duration", "renewBefore"} { // cert-manager's own default is 90 days
			d, err := time.ParseDuration(spec(o)[field].(string))
			if err != nil {
				t.Fatal(err)
			}
			lasts[strings.TrimPrefix(o.GetName(), throttle)+field] = d
		}
		if key, _ := spec(o)["privateKey"].(map[string]any); o.GetName() == throttle+"-ca" && key["rotationPolicy"] != "Never" {
			t.Errorf("cert-manager would make a new key of the authority: %v", key)
		}
	}
	const day = 24 * time.Hour
	if lasts["-caduration"] < 10*365*day || lasts["-carenewBefore"] < lasts["duration"] || lasts["renewBefore"] >= lasts["duration"] {
		t.Errorf("%v: the authority must outlive its copies, and what it signs in its last days", lasts)
	}
}

// TestTheImageHasItsSources: a file that Dockerfile.dockerignore keeps out of the context is not there to COPY, and the
// compiler is that of go.mod. Words that both ways to build an image share are compared in hack/release.
func TestTheImageHasItsSources(t *testing.T) {
	dockerfile, ignored := read(t, deployDir+"/Dockerfile"), strings.Fields(read(t, deployDir+"/Dockerfile.dockerignore"))
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(dockerfile, -1) {
		for source := range strings.FieldsSeq(m[1]) {
			if !slices.Contains(ignored, "!"+source) || !exists("../../../"+source) {
				t.Errorf("COPY %s: it is not there, or Dockerfile.dockerignore keeps it out of the context", source)
			}
		}
	}
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../../../go.mod"))[1]
	if !strings.Contains(dockerfile, "GO_IMAGE=docker.io/library/golang:"+goVersion+"\n") {
		t.Errorf("the compiler is not that of go.mod, %s", goVersion)
	}
}
