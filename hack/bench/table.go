package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// A target is one line of the table.
type target struct {
	what     string
	name     string // of the benchmark, the run's first
	unit     string
	limit    float64
	atLeast  bool // limit is the lowest good value, else the highest
	goal     string
	measured string // with a verb for the value
	beside   []unitText
}

// unitText shows the value of a unit: the median of all counts, or the lowest,
// which is nearest to what a calm machine would show.
type unitText struct {
	unit, text string
	lowest     bool
}

// targets are the promises, in the order of the table. Values beside are shown
// and not judged.
var targets = []target{
	decision("5,000"), decision("100,000"),
	{
		what: "POST /v1/isready over loopback, 2,000 a second", name: "IsReadyLoopback",
		unit: "p99-ms", limit: 2, goal: "p99 ≤ 2 ms", measured: "p99 %.2f ms",
		beside: []unitText{
			{unit: "p99-ms", text: "best count %.2f ms", lowest: true}, {unit: "p50-ms", text: "p50 %.2f ms"},
			{unit: "bare-p99-ms", text: "a handler that does nothing: p99 %.2f ms"}, {unit: "asks/s", text: "%.0f asks/s"},
		},
	},
	throughput("GET", "a real Ironic", "ironic", 0.8, "≥ 0.8 times nginx"),
	throughput("GET", "an upstream that answers at once", "at-once", 0, "shown (docs/dev/decisions.md)"),
	throughput("PATCH", "an upstream that answers at once", "at-once", 0, "shown (docs/dev/decisions.md)"),
	{
		what: "gateway, live heap before and after 100,000 small requests", name: "GatewayHeap",
		unit: "growth-KiB", limit: 256, goal: "flat: ≤ 256 KiB more", measured: "%+.0f KiB",
		beside: []unitText{
			{unit: "end-KiB", text: "of %.0f KiB"}, {unit: "more-goroutines", text: "%+.0f goroutines"},
			{unit: "more-files", text: "%+.0f descriptors"},
		},
	},
	{
		what: "gateway, GET of a node of a real Ironic against asking it directly", name: "GatewayLatency",
		unit: "gateway/direct", limit: 1.15, goal: "≤ 1.15 times", measured: "%.3f times",
		beside: []unitText{{unit: "direct-ms", text: "direct %.2f ms"}, {unit: "gateway-ms", text: "through the gateway %.2f ms"}},
	},
	{
		what: "one poll against BMO's full list, real Ironic, 5,000 idle and 20 busy nodes", name: "PollAgainstFullList",
		unit: "full/poll", limit: 8, atLeast: true, goal: "≥ 8 times cheaper", measured: "%.1f times cheaper",
		beside: []unitText{{unit: "full-ms", text: "list %.0f ms"}, {unit: "poll-ms", text: "poll %.0f ms"}},
	},
	{
		what: "gateway, capacity list of 5,000 nodes against a real Ironic's own answer, cached, all pages", name: "CapacityList",
		unit: "ironic/gateway", limit: 20, atLeast: true, goal: "≥ 20 times faster", measured: "%.0f times faster",
		beside: []unitText{
			{unit: "ironic-ms", text: "Ironic %.0f ms"}, {unit: "gateway-ms", text: "gateway %.1f ms"},
			{unit: "ironic/gateway-page", text: "one page %.0f times"}, {unit: "cold-ms", text: "with nothing cached %.0f ms"},
		},
	},
	{
		what: "snapshot, a hit", name: "Get",
		unit: "ns/op", limit: 500, goal: "≤ 500 ns", measured: "%.0f ns", beside: []unitText{{unit: "allocs/op", text: "%.0f allocs"}},
	},
	{
		what: "plan of 1,000 hosts and 20,000 pods in two clusters", name: "PlanFleet",
		unit: "s/plan", limit: 1, goal: "≤ 1 s", measured: "%.2f s", beside: []unitText{{unit: "hosts", text: "%.0f hosts go"}},
	},
	{
		what: "plan of 1,000 hosts and 20,000 pods in two clusters, peak heap with the state", name: "PlanFleet",
		unit: "peak-MiB", limit: 300, goal: "≤ 300 MiB", measured: "%.0f MiB", beside: []unitText{{unit: "B/op", text: "%.0f B allocated"}},
	},
}

// decision is one ask of a host that waits, where no slot is free.
func decision(waiting string) target {
	return target{
		what: "decision, an ask that finds nothing free, " + waiting + " hosts waiting",
		name: "AskThatFindsNothingFree/" + strings.ReplaceAll(waiting, ",", ""),
		unit: "ns/op", goal: "shown", measured: "mean %.0f ns",
		beside: []unitText{
			{unit: "ns/op", text: "best count %.0f ns", lowest: true}, {unit: "µs-longest", text: "the longest %.0f µs"},
			{unit: "allocs/op", text: "%.0f allocs"},
		},
	}
}

// throughput is the gateway beside nginx, on the same cores and upstream.
func throughput(method, upstream, name string, limit float64, goal string) target {
	return target{
		what: "gateway, small " + method + " on 32 connections against nginx, in front of " + upstream, name: "GatewayThroughput/" + name + "/" + method,
		unit: "gateway/nginx", limit: limit, atLeast: true, goal: goal, measured: "%.2f times",
		beside: []unitText{{unit: "gateway-req/s", text: "%.0f/s"}, {unit: "nginx-req/s", text: "nginx %.0f/s"}},
	}
}

// run is the name of the run that measures it.
func (t target) run() string {
	name, _, _ := strings.Cut(t.name, "/")
	return name
}

// writeTable prints the judgement. What was neither measured nor skipped is an
// error.
func writeTable(w io.Writer, found results, skipped map[string]error) error {
	var missing error
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\tmeasured\ttarget\tok")
	for _, t := range targets {
		value, ok := found.median(t.name, t.unit)
		switch why := skipped[t.run()]; {
		case why != nil:
			fmt.Fprintf(table, "%s\tskipped: %v\t%s\t-\n", t.what, why, t.goal)
		case !ok:
			fmt.Fprintf(table, "%s\tnothing\t%s\tNO\n", t.what, t.goal)
			missing = fmt.Errorf("benchmark %s measured no %s", t.name, t.unit)
		default:
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", t.what, t.shown(value, found), t.goal, t.judge(value))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return missing
}

func (t target) judge(value float64) string {
	if t.limit == 0 {
		return "-"
	}
	if t.atLeast && value >= t.limit || !t.atLeast && value <= t.limit {
		return "yes"
	}
	return "MISSED"
}

func (t target) shown(value float64, found results) string {
	text := fmt.Sprintf(t.measured, value)
	for _, b := range t.beside {
		v, ok := found.median(t.name, b.unit)
		if ok && b.lowest {
			v = slices.Min(found[t.name][b.unit])
		}
		if ok {
			text += fmt.Sprintf(", "+b.text, v)
		}
	}
	return text
}
