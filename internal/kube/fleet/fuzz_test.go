package fleet

import (
	"bytes"
	"strings"
	"testing"

	"sigs.k8s.io/json"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// FuzzAnnotations: whatever they say, each is read or named as a fault, and no number is negative.
func FuzzAnnotations(f *testing.F) {
	names := []string{
		"watts-busy", "watts-idle", "lease-per-hour", "lease-ends", "prepaid", "preemptible", "class", "do-not-disrupt", "storage",
		"consolidate-after", "budgets", "preemptible-options", "execute",
	}
	for i, value := range []string{"400", "-1", "NaN", "2027-01-31T00:00:00Z", "true", "Never", "30s", `[{"nodes":"10%","schedule":"@daily","duration":"8h"}]`, "10%,ready:1", "r640", "1e400", "[[", "\x00"} {
		f.Add(uint8(i), value)
	}
	f.Fuzz(func(t *testing.T, which uint8, value string) {
		name := names[int(which)%len(names)]
		n := notes{of: map[string]string{prefix + name: value}}
		price, policy, class := n.price(), n.policy(), n.class()
		for _, v := range []*float64{price.WattsBusy, price.WattsIdle, price.LeasePerHour} {
			if v != nil && !(*v >= 0) {
				t.Errorf("%s=%q is %v", name, value, *v)
			}
		}
		if a := policy.ConsolidateAfter; a != nil && *a < 0 && *a != disruption.Never {
			t.Errorf("%s=%q is %v", name, value, *a)
		}
		for _, b := range policy.Budgets {
			if err := b.Check(); err != nil {
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
		if len(class) > 63 || len(n.faults) > 1 {
			t.Errorf("class %q, faults %q", class, n.faults)
		}
		for _, fault := range n.faults {
			if len(fault) > 600 || strings.ContainsAny(fault, "\n\x00") {
				t.Errorf("fault %q", fault)
			}
		}
	})
}

// FuzzPage: a page that the API server did not write is an error or a list, and never more than it says.
func FuzzPage(f *testing.F) {
	f.Add([]byte(`{"items":[` + named(plainHost, "a") + `],"metadata":{"continue":"x"}}`))
	f.Add([]byte(`{"items":null}`))
	f.Add([]byte(`{"metadata":[],"items":[{"spec":{"raid":{"hardwareRAIDVolumes":[null,1,{"a":null}]}},"status":{"provisioning":{"raid":{"hardwareRAIDVolumes":[{}]}}}}]}`))
	f.Add([]byte(`{"items":[{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, hosts := newShared(), 0
		keep := hostOf(p)
		_, err := readPage(bytes.NewReader(text), func(w *hostWire) { keep(w); hosts++ })
		var whole struct {
			Items []any `json:"items"`
		}
		if err != nil {
			return
		}
		if strict := json.UnmarshalCaseSensitivePreserveInts(text, &whole); strict == nil && len(whole.Items) > hosts {
			t.Errorf("%d hosts of %d: %s", hosts, len(whole.Items), text)
		}
	})
}
