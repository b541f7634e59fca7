package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = `goos: linux
BenchmarkAskThatFindsNothingFree/5000-2         	  500	   900.0 ns/op	  600 µs-longest	  64 B/op	  1 allocs/op
BenchmarkAskThatFindsNothingFree/5000-2         	  500	  5000 ns/op	  610 µs-longest	  64 B/op	  1 allocs/op
BenchmarkAskThatFindsNothingFree/5000-2         	  500	   800 ns/op	  590 µs-longest	  64 B/op	  1 allocs/op
BenchmarkPollAgainstFullList-2   	       9	         0 ns/op	       970.5 full-ms	         4.90 full/poll
BenchmarkOdd-2	9	1
Benchmarks are fun: 1 2 3
PASS
`

// TestLowestBeside holds that the best count is shown and the median is judged.
func TestLowestBeside(t *testing.T) {
	r := results{"IsReadyLoopback": {"p99-ms": {4, 1.5, 3}}}
	for _, g := range targets {
		if g.name != "IsReadyLoopback" {
			continue
		}
		v, _ := r.median(g.name, g.unit)
		if got := g.shown(v, r) + ", " + g.judge(v); got != "p99 3.00 ms, best count 1.50 ms, MISSED" {
			t.Error(got)
		}
	}
}

func TestResults(t *testing.T) {
	r := results{}
	r.parse(sample)
	want := results{
		"AskThatFindsNothingFree/5000": {"ns/op": {900, 5000, 800}, "µs-longest": {600, 610, 590}, "B/op": {64, 64, 64}, "allocs/op": {1, 1, 1}},
		"PollAgainstFullList":          {"ns/op": {0}, "full-ms": {970.5}, "full/poll": {4.9}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	if v, ok := r.median("AskThatFindsNothingFree/5000", "ns/op"); v != 900 || !ok {
		t.Errorf("median %v, %v, want 900: one slow count in three is noise", v, ok)
	}
	if _, ok := r.median("AskThatFindsNothingFree/5000", "p99-ms"); ok {
		t.Error("a median of nothing")
	}
}

// TestTable holds that a miss is marked, a skip explained, and that only what was
// not measured at all is an error.
func TestTable(t *testing.T) {
	r := results{}
	r.parse(sample)
	r["AskThatFindsNothingFree/100000"] = map[string][]float64{"ns/op": {500}}
	r["GatewayThroughput/ironic/GET"] = map[string][]float64{"gateway/nginx": {.9}}
	r["GatewayThroughput/at-once/GET"] = map[string][]float64{"gateway/nginx": {.3}}
	r["GatewayThroughput/at-once/PATCH"] = map[string][]float64{"gateway/nginx": {.2}}
	r["Get"] = map[string][]float64{"ns/op": {140, 160, 141}, "allocs/op": {0}}
	r["PlanFleet"] = map[string][]float64{"s/plan": {2.5}, "peak-MiB": {600}}
	r["CapacityList"] = map[string][]float64{"ironic/gateway": {400}, "ironic-ms": {900}, "gateway-ms": {2.25}}
	r["GatewayHeap"] = map[string][]float64{"growth-KiB": {-12}}
	skipped := map[string]error{"IsReadyLoopback": errors.New("run install.sh"), "GatewayLatency": errors.New("no Ironic")}
	var out bytes.Buffer
	if err := writeTable(&out, r, skipped); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range map[int][]string{
		0:  {"what", "measured", "target", "ok"},
		1:  {"5,000 hosts", "mean 900 ns, best count 800 ns, the longest 600 µs, 1 allocs", "shown", "-"},
		3:  {"isready", "skipped: run install.sh", "-"},
		4:  {"small GET", "a real Ironic", "0.90 times", "≥ 0.8", "yes"},
		5:  {"small GET", "at once", "0.30 times", "shown", "-"},
		6:  {"small PATCH", "0.20 times", "shown", "-"},
		7:  {"heap", "-12 KiB", "flat", "yes"},
		8:  {"skipped: no Ironic", "≤ 1.15", "-"},
		9:  {"4.9 times cheaper, list 970 ms", "≥ 8 times cheaper", "MISSED"},
		10: {"capacity list", "400 times faster, Ironic 900 ms, gateway 2.2 ms", "≥ 20 times", "yes"},
		11: {"a hit", "141 ns, 0 allocs", "≤ 500 ns", "yes"},
		12: {"20,000 pods", "2.50 s", "≤ 1 s", "MISSED"},
		13: {"peak heap", "600 MiB", "≤ 300 MiB", "MISSED"},
	} {
		for _, w := range want {
			if !strings.Contains(lines[i], w) {
				t.Errorf("line %d lacks %q: %s", i, w, lines[i])
			}
		}
	}
	delete(r, "PollAgainstFullList")
	if err := writeTable(&out, r, skipped); err == nil || !strings.Contains(err.Error(), "PollAgainstFullList") {
		t.Errorf("error %v, want one that names what was not measured", err)
	}
}

// TestEveryRunIsJudged holds runs and table together.
func TestEveryRunIsJudged(t *testing.T) {
	for _, r := range runs {
		found := false
		for _, g := range targets {
			found = found || g.run() == r.name
		}
		if !found {
			t.Errorf("nothing in the table is measured by %s", r.name)
		}
	}
}
