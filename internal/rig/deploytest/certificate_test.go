package deploytest

import (
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

// spec is the part of cert-manager's Certificate that matters here.
func spec(o object) map[string]any { return o.raw["spec"].(map[string]any) }

// lasts returns a duration of a Certificate; cert-manager's own default is 90 days.
func lasts(t *testing.T, o object, field string) time.Duration {
	t.Helper()
	text, ok := spec(o)[field].(string)
	if !ok {
		t.Fatalf("%s does not say its %s", o, field)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %s: %v", o, field, err)
	}
	return d
}

// TestTheAuthorityOutlivesItsCopies: clients have a copy of it that nobody renews, and a
// new key would make the copy useless at the first renewal.
func TestTheAuthorityOutlivesItsCopies(t *testing.T) {
	authority := build(t, deployDir+"/overlays/standalone").one(t, "Certificate", "ironic-throttle-ca")
	if d := lasts(t, authority, "duration"); d < 10*365*24*time.Hour {
		t.Errorf("it ends after %s", d)
	}
	key := spec(authority)["privateKey"].(map[string]any)
	if policy := key["rotationPolicy"]; policy != "Never" {
		t.Errorf("rotationPolicy is %v: cert-manager would make a new key", policy)
	}
	signs := build(t, deployDir+"/overlays/standalone").one(t, "Certificate", throttle)
	if left := lasts(t, authority, "renewBefore"); left < lasts(t, signs, "duration") {
		t.Errorf("in its last %s it signs what outlives it", left)
	}
}

// TestCertificateAlertsAreQuietUntilRenewalFails: they begin when renewal is long due.
func TestCertificateAlertsAreQuietUntilRenewalFails(t *testing.T) {
	m := build(t, "testdata/everything")
	renewed := lasts(t, m.one(t, "Certificate", throttle), "renewBefore")
	if whole := lasts(t, m.one(t, "Certificate", throttle), "duration"); renewed >= whole {
		t.Errorf("renewed %s before its end, of %s", renewed, whole)
	}
	alerts := regexp.MustCompile(`ironic_throttle_certificate_not_after_seconds\)\s+- time\(\)\s+<\s+(?:(\d+) \* )?86400`).
		FindAllStringSubmatch(string(m.one(t, "PrometheusRule", throttle).text), -1)
	if len(alerts) != 2 {
		t.Fatalf("found %d alerts, want 2", len(alerts))
	}
	for _, a := range alerts {
		days, err := strconv.Atoi(a[1])
		if a[1] != "" && err != nil {
			t.Fatal(err)
		}
		if left := time.Duration(max(days, 1)) * 24 * time.Hour; 2*left > renewed {
			t.Errorf("an alert begins %s before the end, renewal %s", left, renewed)
		}
	}
}

// TestCertificateIsForTheServices: its names are those that clients ask for, in
// whichever namespace.
func TestCertificateIsForTheServices(t *testing.T) {
	certificates := 0
	each(t, func(t *testing.T, m manifest) {
		if len(m.kind("Certificate")) == 0 {
			return
		}
		certificates++
		var want []string // those of all Services that there could be
		for _, service := range []string{"api", "gateway", "metrics"} {
			name := throttle + "-" + service + "." + m.system(t) + ".svc"
			want = append(want, name, name+".cluster.local")
		}
		for _, o := range m.kind("Service") {
			if !slices.Contains(want, o.Name+"."+o.Namespace+".svc") {
				t.Errorf("the certificate is not for %s", o)
			}
		}
		var got []string
		for _, name := range spec(m.one(t, "Certificate", throttle))["dnsNames"].([]any) {
			got = append(got, name.(string))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("the certificate is for %v, clients ask for %v", got, want)
		}
	})
	if certificates < 4 {
		t.Errorf("found %d certificates: the search is broken", certificates)
	}
}
