package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ours is a variable with our prefix.
func ours(name, text string) string { return envPrefix + name + "=" + text }

// oneFault fails unless text for the setting name is refused with one fault, which
// names setting, value and rule.
func oneFault(t *testing.T, name, text, rule string) {
	t.Helper()
	_, _, err := load(t, ours(name, text))
	want := fmt.Sprintf("%s%s=%s (environment): ", envPrefix, name, quote(text))
	if got := faults(err); len(got) != 1 || !strings.HasPrefix(got[0], want) || !strings.Contains(got[0], rule) {
		t.Errorf("faults %q, want %q with %q", got, want, rule)
	}
}

func TestHoldoffDefaults(t *testing.T) {
	c, warnings, err := load(t)
	want := Holdoff{Stage: HoldRetry, Growth: 1, MaxFailed: "100%"}
	if diff := cmp.Diff(want, c.Holdoff); diff != "" || err != nil || warnings != nil {
		t.Errorf("error %v, warnings %q (-want +got):\n%s", err, warnings, diff)
	}
}

func TestTimesOfHolds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"48h": 48 * time.Hour, "1.5h": 90 * time.Minute, "30s": 30 * time.Second, "0": 0, "0s": 0, "1ns": 1,
		"2562047h47m16.854775807s": math.MaxInt64,
	} {
		c, _, err := load(t, ours("FAILED_HOST_HOLDOFF", " "+text+" "), ours("HOLDOFF_HOSTS", "a/b = "+text))
		if c.Holdoff.Timeout != want || c.Holdoff.Hosts["a/b"] != want || err != nil {
			t.Errorf("%q: %+v, %v; want %v", text, c.Holdoff, err, want)
		}
	}
	const rule = "must be a duration with its unit, such as 48h or 1.5h, or 0"
	for _, text := range []string{"-1h", "-1ns", "48", "2d", "48 h", "h", "1e3h", "never", "off", "48h,"} {
		oneFault(t, "FAILED_HOST_HOLDOFF", text, rule)
	}
	for _, text := range []string{"2562047h47m16.854775808s", "9999999999h", "+9223372036854775808ns"} {
		oneFault(t, "FAILED_HOST_HOLDOFF", text, "must be a duration of at most 2562047h")
		if _, err := HoldLength(text); err == nil || err.Error() != "must be a duration of at most 2562047h" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestStages(t *testing.T) {
	for _, stage := range []HoldStage{HoldRetry, HoldRemediate} {
		if c, _, err := load(t, ours("HOLDOFF_STAGE", string(stage)), ours("FAILED_HOST_HOLDOFF", "1h")); c.Holdoff.Stage != stage || err != nil {
			t.Errorf("%s: %q, %v", stage, c.Holdoff.Stage, err)
		}
	}
	for _, text := range []string{"Retry", "remediation", "none"} {
		oneFault(t, "HOLDOFF_STAGE", text, "must be one of retry, remediate")
	}
}

func TestGrowth(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "1.0": 1, "2": 2, "1.25": 1.25, "10": 10, "10.0": 10} {
		if c, _, err := load(t, ours("HOLDOFF_GROWTH", " "+text+" ")); c.Holdoff.Growth != want || err != nil {
			t.Errorf("%q: %v, %v; want %v", text, c.Holdoff.Growth, err, want)
		}
	}
	for _, text := range []string{"0", "0.99", "10.1", "-2", "+2", "2x", "1e1", "NaN", "Inf", ".5", "2,0", "99999999999999999999"} {
		oneFault(t, "HOLDOFF_GROWTH", text, "must be a number 1..10")
	}
}

func TestHoldsOfSingleHosts(t *testing.T) {
	longest := strings.Repeat("n", 63) + "/" + strings.Repeat("h.", 126) + "h"
	for text, want := range map[string]map[string]time.Duration{
		"ns/name=48h,ns/other=0":   {"ns/name": 48 * time.Hour, "ns/other": 0},
		"metal3~a.b-c=1.5h,x/1=0s": {"metal3/a.b-c": 90 * time.Minute, "x/1": 0},
		longest + "=1h":            {longest: time.Hour},
	} {
		c, _, err := load(t, ours("HOLDOFF_HOSTS", " "+strings.NewReplacer(",", " , ", "=", " = ").Replace(text)+" "))
		if diff := cmp.Diff(want, map[string]time.Duration(c.Holdoff.Hosts)); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
	for text, rule := range map[string]string{
		"ns/name": "must be namespace/name=duration pairs", "ns/name=1h,": "must be namespace/name=duration pairs", ",": "must be namespace/name=duration pairs",
		"name=1h": `must name hosts as namespace/name, "name" is none`, "/name=1h": `"/name" is none`, "ns/=1h": `"ns/" is none`,
		"a/b/c=1h": `"a/b/c" is none`, "ns~a~b=1h": `"ns~a~b" is none`, "ns/a~b=1h": `"ns/a~b" is none`, "Ns/name=1h": `"Ns/name" is none`, "ns/na_me=1h": `"ns/na_me" is none`,
		"n.s/name=1h": `"n.s/name" is none`, "ns/-name=1h": `"ns/-name" is none`, "ns/name\x1b=1h": `"ns/name\x1b" is none`,
		longest + "h=1h": "is none",
		"ns/name=":       `must give each host a duration with its unit, such as 48h or 1.5h, or 0; ns/name has ""`,
		"ns/name=-1h":    `ns/name has "-1h"`,
		"ns/name=48":     `ns/name has "48"`,
		"a/b=1h;c/d=1h":  `a/b has "1h;c/d=1h"`,
		"a/b=1h,a/b=1h":  `must name each host once, "a/b" comes twice`,
		"a/b=1h,a~b=1h":  `must name each host once, "a/b" comes twice`,
	} {
		oneFault(t, "HOLDOFF_HOSTS", text, rule)
	}
}

func TestQuotas(t *testing.T) {
	for _, text := range []string{"40%", "0%", "100%", "0", "3", "1000000"} {
		if c, _, err := load(t, ours("MAX_FAILED", " "+text+" ")); c.Holdoff.MaxFailed != text || err != nil {
			t.Errorf("%q: %q, %v", text, c.Holdoff.MaxFailed, err)
		}
	}
	for _, text := range []string{"101%", "-1", "-1%", "+3", "40 %", "%", "40%%", "0.5", "33.3%", "half", "1000001", "99999999999999999999%", "٣", "3 hosts"} {
		oneFault(t, "MAX_FAILED", text, "must be a whole percentage 0%..100% or a whole number of hosts 0..1000000")
	}
}

func TestHoldsInMemoryAreWarnedAbout(t *testing.T) {
	const lost = "failed hosts are held and neither IRONIC_THROTTLE_HOLDOFF_FILE nor IRONIC_THROTTLE_HOLDOFF_CONFIGMAP is set: a restart ends or lengthens their holds"
	for _, row := range []struct {
		name    string
		environ []string
		want    []string
	}{
		{"off", nil, nil},
		{"off by 0", []string{ours("FAILED_HOST_HOLDOFF", "0")}, nil},
		{"on", []string{ours("FAILED_HOST_HOLDOFF", "1h")}, []string{lost}},
		{"on for one", []string{ours("HOLDOFF_HOSTS", "a/b=0,a/c=1h")}, []string{lost}},
		{"off for one", []string{ours("HOLDOFF_HOSTS", "a/b=0")}, nil},
		{"in a file", []string{ours("FAILED_HOST_HOLDOFF", "1h"), ours("HOLDOFF_FILE", "/var/lib/holds")}, nil},
	} {
		_, warnings, err := load(t, row.environ...)
		if !slices.Equal(warnings, row.want) || err != nil {
			t.Errorf("%s: warnings %q, error %v; want %q", row.name, warnings, err, row.want)
		}
	}
}

func TestHoldoffSettingsWithoutEffectAreWarnedAbout(t *testing.T) {
	file := ours("HOLDOFF_FILE", "/holds")
	for _, row := range []struct {
		name    string
		environ []string
		want    string // the only warning; "" = none
	}{
		{"stage alone", []string{ours("HOLDOFF_STAGE", "remediate")},
			`IRONIC_THROTTLE_HOLDOFF_STAGE="remediate" (environment) is without effect: no host is held without IRONIC_THROTTLE_FAILED_HOST_HOLDOFF`},
		{"growth alone", []string{ours("HOLDOFF_GROWTH", "2"), ours("FAILED_HOST_HOLDOFF", "0")},
			`IRONIC_THROTTLE_HOLDOFF_GROWTH="2" (environment) is without effect: no host is held without IRONIC_THROTTLE_FAILED_HOST_HOLDOFF`},
		{"growth", []string{ours("HOLDOFF_GROWTH", "2"), ours("FAILED_HOST_HOLDOFF", "47h")}, ""},
		{"growth of one host", []string{ours("HOLDOFF_GROWTH", "2"), ours("HOLDOFF_HOSTS", "a/b=1h")}, ""},
		{"growth at the cap", []string{ours("HOLDOFF_GROWTH", "2"), ours("FAILED_HOST_HOLDOFF", "48h")},
			`IRONIC_THROTTLE_HOLDOFF_GROWTH=2 (environment) is without effect on IRONIC_THROTTLE_FAILED_HOST_HOLDOFF, which is 48h (environment): no hold grows beyond 48h`},
		{"no growth above the cap", []string{ours("HOLDOFF_GROWTH", "1"), ours("FAILED_HOST_HOLDOFF", "72h")}, ""},
	} {
		_, warnings, err := load(t, append(row.environ, file)...)
		if got := strings.Join(warnings, "\n"); got != row.want || err != nil {
			t.Errorf("%s: warnings %q, error %v; want %q", row.name, got, err, row.want)
		}
	}
	// One mistake, one message.
	_, warnings, err := load(t, ours("FAILED_HOST_HOLDOFF", "x"), ours("HOLDOFF_STAGE", "remediate"))
	if warnings != nil || len(faults(err)) != 1 {
		t.Errorf("warnings %q, faults %q", warnings, faults(err))
	}
}

func TestReloadKeepsTheFileOfTheHolds(t *testing.T) {
	f, src, c := start(t, "holdoffFile: /a\nfailedHostHoldoff: 1h")
	f.write("holdoffFile: /b\nfailedHostHoldoff: 2h\nholdoffHosts: {a/b: 0, a/c: 3h}", nil)
	next, warnings, err := c.Reload(src)
	want := c.Holdoff
	want.Timeout, want.Hosts = 2*time.Hour, map[string]time.Duration{"a/b": 0, "a/c": 3 * time.Hour}
	if diff := cmp.Diff(want, next.Holdoff); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if len(warnings) != 1 || !strings.HasPrefix(string(warnings[0]), "IRONIC_THROTTLE_HOLDOFF_FILE changed from ") {
		t.Errorf("warnings %q", warnings)
	}
}
