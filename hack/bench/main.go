// Bench measures what the product promises about speed, side by side in one run,
// and ends with a table: what, measured, target, ok.
//
//	go run ./hack/bench
//
// A miss is marked, not an error, for a busy machine is no defect; a benchmark
// that cannot run is one. See docs/dev/benchmarks.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
)

// A run is one call of go test with one benchmark; it prints lines that parse reads.
type run struct {
	name string // of the benchmark
	pkg  string
	args []string
	// missing says what is not installed, nil when the run can be.
	missing func() error
}

// runs go from what needs least to what needs most. Several counts of the same
// benchmark are taken for their median.
var runs = []run{
	{name: "AskThatFindsNothingFree", pkg: "./pkg/admission", args: []string{"-benchtime", "300ms", "-count", "5", "-benchmem"}},
	{name: "Get", pkg: "./pkg/snapshot", args: []string{"-benchtime", "100ms", "-count", "3", "-benchmem", "-cpu", "1"}},
	{name: "PlanFleet", pkg: "./pkg/disruption", args: []string{"-benchtime", "3x", "-count", "3", "-benchmem"}},
	{name: "IsReadyLoopback", pkg: "./internal/server", args: []string{"-benchtime", "10000x", "-count", "3"}},
	{name: "GatewayThroughput", pkg: "./e2e", args: []string{"-tags", "e2e", "-benchtime", "7x"}, missing: both},
	{name: "GatewayHeap", pkg: "./e2e", args: []string{"-tags", "e2e", "-benchtime", "1x"}, missing: nginx},
	{name: "GatewayLatency", pkg: "./e2e", args: []string{"-tags", "e2e", "-benchtime", "300x"}, missing: ironic},
	{name: "PollAgainstFullList", pkg: "./e2e", args: []string{"-tags", "e2e", "-benchtime", "9x"}, missing: ironic},
	{name: "CapacityList", pkg: "./e2e", args: []string{"-tags", "e2e", "-benchtime", "1x"}, missing: ironic},
}

func ironic() error { return realironic.Installed(realironic.Options{}) }

func both() error { return errors.Join(ironic(), nginx()) }

// nginx looks where e2e does: Debian's is on no plain user's PATH.
func nginx() error {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if _, err := exec.LookPath(name); err == nil {
			return nil
		}
	}
	return errors.New("no nginx on this machine: run hack/ironic/install.sh as root")
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bench(ctx, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, stdout, stderr io.Writer) error {
	found := results{}
	skipped := map[string]error{}
	var failed []error
	before := load()
	for _, r := range runs {
		if r.missing != nil {
			if err := r.missing(); err != nil {
				skipped[r.name] = err
				continue
			}
		}
		if err := goBench(ctx, r, found, stdout, stderr); err != nil {
			failed = append(failed, err)
		}
	}
	fmt.Fprintf(stdout, "\n%s %s/%s, %d CPUs%s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), before)
	if err := writeTable(stdout, found, skipped); err != nil {
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// goBench shows what go test prints and keeps the results. An interrupt reaches
// the benchmark as a person's Ctrl-C would.
func goBench(ctx context.Context, r run, into results, stdout, stderr io.Writer) error {
	args := append([]string{"test", "-run", "^$", "-timeout", "10m", "-bench", "^Benchmark" + r.name + "$"}, r.args...)
	cmd := exec.CommandContext(ctx, "go", append(args, r.pkg)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = io.MultiWriter(stdout, &text), stderr
	err := cmd.Run()
	into.parse(text.String())
	if err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(cmd.Args[1:], " "), err)
	}
	return nil
}

// load tells how busy the machine was before, where the system says it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	said := ", load before " + first
	if v, err := strconv.ParseFloat(first, 64); err == nil && v > float64(runtime.NumCPU())/2 {
		said += ": others were at work, times are longer than on a calm machine, ratios less so"
	}
	return said
}
