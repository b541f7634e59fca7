package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestF4_CapAndReserveAgainstTheLimit(t *testing.T) {
	for _, row := range []struct {
		limit             int
		most, reserve     string // "" = not given
		wantMost, wantRes int    // with no fault
		faults            int
	}{
		{1, "", "", 1, 0, 0}, {2, "", "", 1, 1, 0}, {3, "", "", 1, 1, 0}, {20, "", "", 5, 2, 0}, {21, "", "", 6, 3, 0}, {100000, "", "", 25000, 10000, 0},
		{20, "18", "", 18, 2, 0}, {20, "19", "", 0, 0, 1}, {20, "20", "0", 20, 0, 0}, {20, "1", "19", 1, 19, 0},
		{20, "", "15", 5, 15, 0}, {20, "", "16", 0, 0, 1}, {20, "auto", "auto", 5, 2, 0},
		{1, "1", "0", 1, 0, 0}, {1, "2", "", 0, 0, 1}, {1, "", "1", 0, 0, 1}, {2, "3", "2", 0, 0, 2},
	} {
		t.Run(fmt.Sprintf("%d with %s and %s", row.limit, row.most, row.reserve), func(t *testing.T) {
			c, _, err := load(t, fmt.Sprint("PROVISIONING_LIMIT=", row.limit),
				"IRONIC_THROTTLE_FAILING_CAP="+row.most, "IRONIC_THROTTLE_FAILING_RESERVE="+row.reserve)
			got := faults(err)
			if len(got) != row.faults {
				t.Fatalf("faults %q, want %d", got, row.faults)
			}
			for _, text := range got {
				if !strings.HasPrefix(text, "IRONIC_THROTTLE_FAILING_") || !strings.Contains(text, fmt.Sprintf("PROVISIONING_LIMIT, which is %d", row.limit)) {
					t.Errorf("%q does not name what it is about", text)
				}
			}
			if len(got) > 0 {
				return
			}
			if most, reserve := c.Turns.failingCap(row.limit), c.Turns.failingReserve(row.limit); most != row.wantMost || reserve != row.wantRes {
				t.Errorf("%d and %d, want %d and %d", most, reserve, row.wantMost, row.wantRes)
			}
		})
	}
}

func TestF2_WeightsAsText(t *testing.T) {
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
	}{{"auto", Auto}, {" auto ", Auto}, {"0", 0}, {"4096", 4096}} {
		c, _, err := load(t, "IRONIC_THROTTLE_CALL_AHEAD="+row.text)
		if c.Turns.Ahead != row.want || err != nil {
			t.Errorf("%q: %d, %v; want %d", row.text, c.Turns.Ahead, err, row.want)
		}
	}
	for _, text := range []string{"-1", "4097", "Auto", "automatic", "1.5"} {
		_, _, err := load(t, "IRONIC_THROTTLE_CALL_AHEAD="+text)
		want := fmt.Sprintf("IRONIC_THROTTLE_CALL_AHEAD=%q (environment): must be auto or a whole number 0..4096", text)
		if got := faults(err); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
