package simulate_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"

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
		return g, err
	}
	return g, g.Validate()
}

// run plays what the flags say.
func run(t *testing.T, args string, asJSON bool) (results []simulate.Result, stdout string) {
	t.Helper()
	g, err := parse(args)
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	var out bytes.Buffer
	if results, err = g.Run(t.Context(), simulate.Output{Stdout: &out, Stderr: io.Discard, JSON: asJSON}); err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return results, out.String()
}

// TestFlagsNameValueAndRule: all that is wrong with a storm is said, each with its flag, its value and the rule.
func TestFlagsNameValueAndRule(t *testing.T) {
	for args, want := range map[string]string{
		"--limit 0,4":                        "--limit 0: must be 1 to 100000",
		"--policy=":                          "--limit, --policy and --breaker: each must have a value",
		"--policy throtle --limit 1,2":       `--policy "throtle": must be throttle or bmo`,
		"--via gatway --workers 0":           "--workers 0: must be 1 to 1024\n" + `--via "gatway": must be check or gateway`,
		"--tenants 700":                      "--tenants 700: must be 1 to 600",
		"--work 5s-10s":                      "--work 5s-10s: must be 1m to 24h, or 0s for a whole life",
		"--plot x.png":                       "--plot x.png: must end in .svg",
		"--limit-mode adaptive --policy bmo": "--limit-mode adaptive: must be fixed with other policies than throttle",
		"--scenario bad-imag":                `--scenario "bad-imag": must be bad-image or dead-rack`,
		"--breaker on,offf":                  `--breaker "offf": must be on or off`,
		"--limit-mode fixd":                  `--limit-mode "fixd": must be fixed or adaptive`,
		"--tenant-hosts 5,0":                 "--tenant-hosts 0: must be at least 1 each",
	} {
		if _, err := parse(args); err == nil || err.Error() != want {
			t.Errorf("%s:\n%v, want\n%s", args, err, want)
		}
	}
}

func TestSameFlagsSameBytes(t *testing.T) {
	const args = "--hosts 12 --limit 2,3 --failing 0.1 --policy throttle,bmo --seed 2"
	_, first := run(t, args, true)
	_, again := run(t, args, true)
	if diff := cmp.Diff(first, again); diff != "" || strings.Count(first, "\n") != 4 {
		t.Errorf("two runs differ, or do not have 4 lines:\n%s", diff)
	}
}

// TestBMOOvershootsByItsWorkers: it lists, counts and then acts (docs/dev/reference/bmo.md), which comparison and
// picture show.
func TestBMOOvershootsByItsWorkers(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "a.svg")
	results, table := run(t, "--hosts 30 --limit 3,4 --policy throttle,bmo --boot-capacity -1 --failing 0 --plot "+plot, false)
	for _, r := range results {
		bmo := r.Policy == simulate.PolicyBMO
		if bmo && (r.PeakWorking <= r.Limit || r.PeakWorking > r.Limit+7) || !bmo && r.PeakWorking != r.Limit {
			t.Errorf("%s, limit %d: %d worked at once", r.Policy, r.Limit, r.PeakWorking)
		}
	}
	if simulate.Failed(results) || !simulate.Failed(results[1:2]) || strings.Count(table, "ABOVE") != 2 {
		t.Error("where the throttle is among the policies, it alone decides whether the comparison failed")
	}
	if text, err := os.ReadFile(plot); err != nil || strings.Count(string(text), "<polyline") != 4 || xml.Unmarshal(text, new(struct{})) != nil {
		t.Errorf("%v, %.300s", err, text)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g := simulate.DefaultGrid()
	if _, err := g.Run(ctx, simulate.Output{Stdout: io.Discard, Stderr: io.Discard}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
