package simulate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // a storm leaves little behind
	goleak.VerifyTestMain(m)
}

// parse reads flags as the command does.
func parse(args string) (simulate.Grid, error) {
	g := simulate.DefaultGrid()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	g.Flags(fs)
	if err := fs.Parse(strings.Fields(args)); err != nil {
		var invalid *pflag.InvalidValueError
		if errors.As(err, &invalid) {
			err = fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), errors.Unwrap(invalid))
		}
		return g, err
	}
	return g, g.Validate()
}

// TestFlagsNameValueAndRule: all that is wrong is said once, each with its flag, its value and the rule.
func TestFlagsNameValueAndRule(t *testing.T) {
	for args, want := range map[string]string{
		"--limit 0":                "--limit 0: must be 1 to 100000",
		"--limit 5,5":              "--limit 5: is given twice",
		"--policy=":                "--policy: must name at least one",
		"--policy throtle":         `--policy "throtle": must be throttle or bmo; did you mean throttle?`,
		"--via gatway --workers 0": "--workers 0: must be 1 to 1024\n" + `--via "gatway": must be check or gateway; did you mean gateway?`,
		"--tenants 700":            "--tenants 700: must be 1 to 600",
		"--work 5s-10s":            "--work 5s-10s: must be within 1m0s and 24h0m0s, or 0 for a whole life",
		"--plot x.png":             "--plot x.png: must end in .svg",
		"--plot nowhere/x.svg":     "--plot nowhere/x.svg: its folder must be there",
		"--trouble bmo@1h":         `--trouble "bmo@1h": must be KIND@AT+FOR, such as bmo@1h+5m`,
		"--trouble bm@1h+5m":       `--trouble "bm@1h+5m": "bm" must be throttle, bmo or ironic; did you mean bmo?`,
		"--trouble ironic@1h+0s":   `--trouble "ironic@1h+0s": FOR must be above 0`,

		"--tenant-hosts 5,5 --hosts 10":        "--tenant-hosts and --hosts: one of both, --tenant-hosts says the hosts of each tenant",
		"--tenant-weights tenant-4=2":          "--tenant-weights tenant-4: there is no such tenant, they are tenant-1, tenant-2, tenant-3",
		"--tenant-weights tenant-1=1e1":        `--tenant-weights "tenant-1=1e1": must give each tenant a weight 0.01..100, tenant-1 has "1e1"`,
		"--limit 40,4 --failing-cap 10":        "--failing-cap 10: must be -1 (a quarter), or 1 to 4 with --limit 4",
		"--limit-mode adaptive --policy bmo":   "--limit-mode adaptive: goes with --policy throttle alone, no other rule changes its limit",
		"--boot-change 12":                     `--boot-change "12": must be CAPACITY@TIME, such as 12@1h`,
		"--scenario bad-imag":                  `--scenario "bad-imag": must be bad-image, dead-rack, flapping-bmc or hanging; did you mean bad-image?`,
		"--scenario dead-rack --groups 1":      "--groups 1: must be 2 or more with --scenario dead-rack, or all hosts are in it",
		"--fixed-after 1h":                     "--fixed-after 1h0m0s: goes with --scenario bad-image or dead-rack only",
		"--breaker offf --breaker-threshold 1": `--breaker "offf": must be on or off; did you mean off?` + "\n--breaker-threshold 1: must be 2 to 1000",
		"--planned 1 --policy bmo":             "--planned 1: goes with --policy throttle alone, no other rule knows planned work",
		"--waves 0":                            "--waves 0: must be 1 to 1000",
	} {
		if _, err := parse(args); err == nil || err.Error() != want {
			t.Errorf("%s:\n%v, want\n%s", args, err, want)
		}
	}
}

// run plays what the flags say.
func run(t *testing.T, args string, asJSON bool) (results []simulate.Result, stdout, stderr string) {
	t.Helper()
	g, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	var out, notes bytes.Buffer
	if results, err = g.Run(t.Context(), simulate.Output{Stdout: &out, Stderr: &notes, JSON: asJSON}); err != nil {
		t.Fatal(err)
	}
	return results, out.String(), notes.String()
}

func TestSameFlagsSameBytes(t *testing.T) {
	const args = "--hosts 12 --limit 2,3 --failing 0.1 --policy throttle,bmo --seed 1,2 --trouble throttle@8m+30s --boot-change 3@10m"
	_, first, _ := run(t, args, true)
	_, again, _ := run(t, args, true)
	if diff := cmp.Diff(first, again); diff != "" || strings.Count(first, "\n") != 8 {
		t.Errorf("two runs differ, or do not have 8 lines:\n%s", diff)
	}
}

// TestBMOOvershootsByItsWorkers: it lists, counts and then acts (docs/dev/reference/bmo.md), which the comparison shows.
func TestBMOOvershootsByItsWorkers(t *testing.T) {
	results, table, notes := run(t, "--hosts 30 --limit 3,4 --policy throttle,bmo --boot-capacity -1 --failing 0 --trouble bmo@90h+1m", false)
	for _, r := range results {
		if r.Policy == measure.PolicyBMO && (r.PeakWorking <= r.Limit || r.PeakWorking > r.Limit+7) || r.Policy == measure.PolicyThrottle && r.PeakWorking != r.Limit {
			t.Errorf("%s, limit %d: %d worked at once", r.Policy, r.Limit, r.PeakWorking)
		}
	}
	if simulate.Failed(results) || !simulate.Failed(results[1:2]) {
		t.Error("where the throttle is among the policies, it alone decides whether the comparison failed")
	}
	if strings.Count(table, "ABOVE") != 2 || !strings.Contains(notes, "--trouble bmo@90h0m0s+1m0s: never came in 4 of 4 storms") {
		t.Errorf("%s\n%s", table, notes)
	}
}

// TestFilesOverTime: --csv has all storms; --plot has as many lines as can be told apart.
func TestFilesOverTime(t *testing.T) {
	plot, csv := filepath.Join(t.TempDir(), "a.svg"), filepath.Join(t.TempDir(), "a.csv")
	g, err := parse("--hosts 9 --limit 1,2,3,4,5,6,7 --plot " + plot + " --csv " + csv)
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Run(t.Context(), simulate.Output{Stdout: io.Discard, Stderr: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "7 lines, can draw at most 6: compare fewer storms, or take --csv") {
		t.Errorf("error %v", err)
	}
	text, err := os.ReadFile(csv)
	if err != nil || !strings.HasPrefix(string(text), "policy,limit,limit_mode,seed,") || !strings.Contains(string(text), "\nthrottle,7,fixed,1,on,0,5,") {
		t.Errorf("%v, %.300s", err, text)
	}
	run(t, "--hosts 9 --limit 3 --policy throttle,bmo --plot "+plot, false)
	if text, err := os.ReadFile(plot); err != nil || strings.Count(string(text), "<polyline") != 2 || xml.Unmarshal(text, new(struct{})) != nil {
		t.Errorf("%v, %.300s", err, text)
	}
}

// stop ends a comparison when its first line is printed.
type stop struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (s *stop) Write(p []byte) (int, error) {
	s.cancel()
	return s.Buffer.Write(p)
}

func TestInterruptedKeepsStormsThatEnded(t *testing.T) {
	g, err := parse("--hosts 9 --limit 3")
	if err != nil {
		t.Fatal(err)
	}
	for g.Seeds = nil; len(g.Seeds) < 200; {
		g.Seeds = append(g.Seeds, uint(len(g.Seeds)+1))
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := stop{cancel: cancel}
	results, err := g.Run(ctx, simulate.Output{Stdout: &out, Stderr: io.Discard, JSON: true})
	lines := strings.Count(out.String(), "\n")
	if err == nil || lines == 0 || lines == len(g.Seeds) || lines != len(results) {
		t.Errorf("%d lines of %d storms, %d results: %v", lines, len(g.Seeds), len(results), err)
	}
	for line := range strings.Lines(out.String()) {
		var r simulate.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil || !r.Finished || r.Provisioned != 9 {
			t.Errorf("%v: %s", err, line)
		}
	}
}
