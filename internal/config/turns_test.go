package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheCapOfFailingHostsIsWithinTheLimit(t *testing.T) {
	for _, row := range []struct {
		limit int
		most  string // "" = not given
		fits  bool
	}{{1, "", true}, {1, "1", true}, {1, "2", false}, {20, "20", true}, {20, "21", false}, {20, "auto", true}} {
		_, _, err := load(t, fmt.Sprint("MAX_CONCURRENT_PROVISIONING_HOSTS=", row.limit), "IRONIC_THROTTLE_FAILING_CAP="+row.most)
		var want []string
		if !row.fits {
			want = []string{fmt.Sprintf(`IRONIC_THROTTLE_FAILING_CAP=%q (environment): must be at most MAX_CONCURRENT_PROVISIONING_HOSTS, which is %d (environment)`,
				row.most, row.limit)}
		}
		if got := faults(err); !slices.Equal(got, want) {
			t.Errorf("%d and %q: %q, want %q", row.limit, row.most, got, want)
		}
	}
}

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

func TestWordsOfAutomaticNumbers(t *testing.T) {
	for _, row := range []struct {
		text string
		want autoInt
	}{{"auto", Auto}, {" auto ", Auto}, {"1", 1}, {"20", 20}} {
		c, _, err := load(t, "IRONIC_THROTTLE_FAILING_CAP="+row.text)
		if c.Turns.FailingCap != row.want || err != nil {
			t.Errorf("%q: %d, %v; want %d", row.text, c.Turns.FailingCap, err, row.want)
		}
	}
	for _, text := range []string{"0", "-1", "100001", "Auto", "automatic", "1.5"} {
		_, _, err := load(t, "IRONIC_THROTTLE_FAILING_CAP="+text)
		want := fmt.Sprintf("IRONIC_THROTTLE_FAILING_CAP=%q (environment): must be auto or a whole number 1..100000", text)
		if got := faults(err); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
