package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestTable: what go test prints is judged by the median, a miss is marked, a skip explained, and only what was
// not measured at all is an error.
func TestTable(t *testing.T) {
	r := results{}
	r.parse(`goos: linux
BenchmarkAskThatFindsNothingFree/5000-2         	  500	   900.0 ns/op	  600 µs-longest	  64 B/op
BenchmarkAskThatFindsNothingFree/5000-2         	  500	  5000 ns/op	  610 µs-longest	  64 B/op
BenchmarkAskThatFindsNothingFree/5000-2         	  500	   800 ns/op	  590 µs-longest	  64 B/op
BenchmarkAskThatFindsNothingFree/100000         	  500	   900.0 ns/op
BenchmarkGateway-2   	       9	         0 ns/op	       970.5 nginx-req/s	         0.70 gateway/nginx	         1.10 gateway/direct
BenchmarkGet 	       9	         141 ns/op
BenchmarkPlanFleet-2 	       9	         0.5 s/plan	600 peak-MiB
BenchmarkOdd-2	9	1
Benchmarks are fun: 1 2 3
PASS
`)
	no := errors.New("no Ironic")
	skipped := map[string]error{"IsReadyLoopback": no}
	var out bytes.Buffer
	if err := writeTable(&out, r, skipped); err != nil {
		t.Error(err)
	}
	table := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"what measured target ok", "5,000 hosts waiting 900 ns/op, best 800; 64 B/op; 600 µs-longest shown -", "a second skipped: no Ironic ≤ 2 -",
		"nginx 0.7 times; 1.1 gateway/direct; 970.5 nginx-req/s; 0 ns/op ≥ 0.8 MISSED", "a hit 141 ns/op, best 141 ≤ 500 yes", "0.5 s/plan ≤ 300 MISSED", "≤ 1 yes",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("%s\nlacks %q", out.String(), want)
		}
	}
	delete(r, "Gateway")
	if err := writeTable(&out, r, skipped); err == nil || !strings.Contains(err.Error(), "Gateway") {
		t.Errorf("error %v, want one that names what was not measured", err)
	}
}
