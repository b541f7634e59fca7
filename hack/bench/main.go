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
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
)

// run is one call of go test with one benchmark, and the programs that it needs.
type run struct {
	name, pkg, args string
	needs           []string
}

// runs go from what needs least to what needs most. Several counts of the same
// benchmark are taken for their median.
var runs = []run{
	{"AskThatFindsNothingFree", "./pkg/admission", "-benchtime 300ms -count 5 -benchmem", nil},
	{"Get", "./pkg/snapshot", "-benchtime 100ms -count 3 -benchmem -cpu 1", nil},
	{"PlanFleet", "./pkg/disruption", "-benchtime 3x -count 3 -benchmem", nil},
	{"IsReadyLoopback", "./internal/server", "-benchtime 10000x -count 3", nil},
	{"Gateway", "./e2e", "-tags e2e -benchtime 9x", []string{"ironic-api", "nginx"}},
}

// missing says which program is not installed. It looks where e2e does: Debian's nginx is on no plain user's PATH.
func (r run) missing() error {
	for _, name := range r.needs {
		_, err := exec.LookPath(name)
		if _, inSbin := exec.LookPath("/usr/sbin/" + name); err != nil && inSbin != nil {
			return fmt.Errorf("no %s on this machine: run hack/ironic/install.sh as root", name)
		}
	}
	return nil
}

// target is one line of the table. The other units of its benchmark are shown beside and not judged.
type target struct {
	what, name, unit string  // the benchmark's name begins with its run's
	least, most      float64 // 0: no bound; neither: it is shown
}

// targets are the promises, in the order of the table.
var targets = []target{
	{"decision, an ask that finds nothing free, 5,000 hosts waiting", "AskThatFindsNothingFree/5000", "ns/op", 0, 0},
	{"decision, an ask that finds nothing free, 100,000 hosts waiting", "AskThatFindsNothingFree/100000", "ns/op", 0, 0},
	{"POST /v1/isready over loopback, 2,000 a second", "IsReadyLoopback", "p99-ms", 0, 2},
	{"gateway, GETs of a node of a real Ironic on 32 connections against nginx", "Gateway", "gateway/nginx", .8, 0},
	{"gateway, GET of a node of a real Ironic against asking it directly", "Gateway", "gateway/direct", 0, 1.15},
	{"snapshot, a hit", "Get", "ns/op", 0, 500},
	{"plan of 1,000 hosts and 20,000 pods in two clusters", "PlanFleet", "s/plan", 0, 1},
	{"the same, peak heap with the state", "PlanFleet", "peak-MiB", 0, 300},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bench(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context) error {
	found, skipped := results{}, map[string]error{}
	var failed []error
	before, _ := os.ReadFile("/proc/loadavg") // where the system has it
	for _, r := range runs {
		if err := r.missing(); err != nil {
			skipped[r.name] = err
		} else if err := goBench(ctx, r, found); err != nil {
			failed = append(failed, err)
		}
	}
	fmt.Printf("\n%s %s/%s, %d CPUs, load before: %s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), strings.TrimSpace(string(before)))
	return errors.Join(append(failed, writeTable(os.Stdout, found, skipped))...)
}

// goBench shows what go test prints and keeps the results. An interrupt reaches
// the benchmark as a person's Ctrl-C would.
func goBench(ctx context.Context, r run, into results) error {
	args := []string{"test", "-run", "^$", "-timeout", "10m", "-bench", "^Benchmark" + r.name + "$"}
	args = slices.Concat(args, strings.Fields(r.args), []string{r.pkg})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = io.MultiWriter(os.Stdout, &text), os.Stderr
	err := cmd.Run()
	into.parse(text.String())
	if err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// results holds what was measured, by benchmark and unit, a value per count.
type results map[string]map[string][]float64

// parse takes the lines "BenchmarkX-2  100  12.3 ns/op  4 B/op" of a text; -2 are the CPUs.
func (r results) parse(text string) {
	for _, m := range regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)`).FindAllStringSubmatch(text, -1) {
		if r[m[1]] == nil {
			r[m[1]] = map[string][]float64{}
		}
		for pair := range slices.Chunk(strings.Fields(m[2]), 2) {
			if v, err := strconv.ParseFloat(pair[0], 64); err == nil && len(pair) == 2 {
				r[m[1]][pair[1]] = append(r[m[1]][pair[1]], v)
			}
		}
	}
}

// median is the middle value of all counts: one slow count of three is noise.
func median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// writeTable prints the judgement. What was neither measured nor skipped is an error.
func writeTable(w io.Writer, found results, skipped map[string]error) (missing error) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\tmeasured\ttarget\tok")
	for _, t := range targets {
		name, _, _ := strings.Cut(t.name, "/")
		measured, goal, ok := "nothing", "shown", "NO"
		if t.least > 0 {
			goal = fmt.Sprintf("≥ %v", t.least)
		} else if t.most > 0 {
			goal = fmt.Sprintf("≤ %v", t.most)
		}
		if skipped[name] != nil {
			measured, ok = fmt.Sprintf("skipped: %v", skipped[name]), "-"
		} else if all := found[t.name]; len(all[t.unit]) == 0 {
			missing = fmt.Errorf("benchmark %s measured no %s", t.name, t.unit)
		} else {
			v := median(all[t.unit])
			measured, ok = fmt.Sprintf("%.4g %s, best %.4g", v, t.unit, slices.Min(all[t.unit])), "yes"
			if t.least > 0 {
				measured = fmt.Sprintf("%.4g times", v)
			}
			for _, unit := range slices.Sorted(maps.Keys(all)) {
				if unit != t.unit {
					measured += fmt.Sprintf("; %.4g %s", median(all[unit]), unit)
				}
			}
			if t.least == 0 && t.most == 0 {
				ok = "-"
			} else if v < t.least || t.most > 0 && v > t.most {
				ok = "MISSED"
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", t.what, measured, goal, ok)
	}
	return errors.Join(missing, table.Flush())
}
