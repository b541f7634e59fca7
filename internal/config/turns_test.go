package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWeightsAsText(t *testing.T) {
	long := strings.Repeat("n", 63)
	for _, row := range []struct {
		text string
		want map[string]float64
	}{
		{"prod=3,dev=0.5", map[string]float64{"prod": 3, "dev": 0.5}},
		{" prod = 100 , dev=0.01 ", map[string]float64{"prod": 100, "dev": 0.01}},
		{"1=007.50", map[string]float64{"1": 7.5}},
		{long + "=1", map[string]float64{long: 1}},
	} {
		c, _, err := load(t, "IRONIC_THROTTLE_TENANT_WEIGHTS="+row.text)
		if diff := cmp.Diff(row.want, map[string]float64(c.Turns.Weights)); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", row.text, err, diff)
		}
	}
	for _, text := range []string{
		"prod", "prod=", "=3", "prod=3,", ",", "prod=3;dev=1", "prod=3 dev=1", "prod:3", "prod=0", "prod=-1", "prod=0.009", "prod=100.1",
		"prod=NaN", "prod=Inf", "prod=1e1", "prod=0x1p1", "prod=1_0", "prod=.5", "prod=+1", "prod=3,prod=3",
		"Prod=1", "-prod=1", "prod-=1", "pr.od=1", "pr/od=1", "ns~host=1", long + "n=1", "(others)=1", "prod=\x1b",
	} {
		_, _, err := load(t, "IRONIC_THROTTLE_TENANT_WEIGHTS="+text)
		got := faults(err)
		if len(got) != 1 || !strings.HasPrefix(got[0], "IRONIC_THROTTLE_TENANT_WEIGHTS=") || got[0] != oneLine(got[0]) {
			t.Errorf("%q: %q, want one fault", text, got)
		}
	}
}
