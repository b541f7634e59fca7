package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"text/tabwriter"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// Output is where a comparison speaks to. Results go to Stdout, all progress to
// Stderr.
type Output struct {
	Stdout, Stderr io.Writer
	JSON           bool // one JSON object a line, instead of a table
}

// say prints notes for the person who started the comparison.
func (o *Output) say(notes []string) {
	for _, note := range notes {
		fmt.Fprintln(o.Stderr, note)
	}
}

// Run plays all storms and prints what they came to; the grid must be valid. What
// is printed depends on the options alone. A ctx that ends early ends it with an
// error, after what the storms that had ended came to.
func (g *Grid) Run(ctx context.Context, out Output) ([]Result, error) {
	out.say(g.before())
	storms := g.Storms()
	var through atomic.Int64
	stop := progress(out.Stderr, storms, &through)
	var results []Result
	err := Compare(ctx, storms, &through, func(_ int, r Result) error {
		if r.Why == interrupted {
			return nil // says nothing
		}
		results = append(results, r)
		if !out.JSON {
			return nil
		}
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = out.Stdout.Write(append(text, '\n'))
		return err
	})
	stop()
	if err != nil {
		return results, err
	}
	for _, r := range results {
		if why := r.Unfinished(); why != "" {
			fmt.Fprintf(out.Stderr, "%s, limit %d, seed %d: not finished: %s\n", r.Policy, r.Limit, r.Seed, why)
		}
	}
	out.say(g.after(results))
	if !out.JSON && len(results) > 0 {
		if err := WriteTable(out.Stdout, results); err != nil {
			return results, err
		}
	}
	if left := len(storms) - len(results); left > 0 {
		return results, fmt.Errorf("interrupted: %d of %d storms did not end and are left out", left, len(storms))
	}
	return results, errors.Join(g.write("plot", g.Plot, writeSVG, results), g.write("csv", g.CSV, writeCSV, results))
}

// write makes the file of a flag, if it is given.
func (g *Grid) write(flag, name string, as func(io.Writer, []Result) error, results []Result) error {
	if name == "" {
		return nil
	}
	var text bytes.Buffer
	err := as(&text, results)
	if err == nil {
		err = os.WriteFile(name, text.Bytes(), 0o644)
	}
	if err != nil {
		return fmt.Errorf("--%s %s: %w", flag, name, err)
	}
	return nil
}

// Failed tells whether a comparison ends in a no: the limit did not hold, or a
// storm did not end. Where the throttle is compared with others it is the one that
// counts: that they break the limit is what the comparison is for.
func Failed(results []Result) bool {
	ours := func(r Result) bool { return r.Policy == measure.PolicyThrottle }
	among := slices.ContainsFunc(results, ours)
	return slices.ContainsFunc(results, func(r Result) bool {
		return (!among || ours(r)) && (r.Exceeded() || r.Unfinished() != "")
	})
}

// columns is how many storms stand side by side.
const columns = 6

// WriteTable prints results side by side, all of one limit below each other when
// they are too many for one row.
func WriteTable(out io.Writer, results []Result) error {
	if len(results) <= columns {
		return writeColumns(out, results)
	}
	for len(results) > 0 { // those of one limit are neighbours
		n := slices.IndexFunc(results, func(r Result) bool { return r.Limit != results[0].Limit })
		if n < 0 {
			n = len(results)
		}
		for part := range slices.Chunk(results[:n], columns) {
			if err := writeColumns(out, part); err != nil {
				return err
			}
		}
		results = results[n:]
	}
	return nil
}

func writeColumns(out io.Writer, results []Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	all := tableRows(results)
	for _, r := range failureRows {
		if slices.ContainsFunc(results, r.says) {
			all = append(all, r.row)
		}
	}
	for _, row := range all {
		fmt.Fprintf(w, "%s\t", row.name)
		for _, r := range results {
			fmt.Fprintf(w, "%s\t", row.of(r))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// row is a line of the table, in words.
type row struct {
	name string
	of   func(Result) string
}

func number(f func(Result) int) func(Result) string {
	return func(r Result) string { return fmt.Sprint(f(r)) }
}

func duration(f func(Result) float64) func(Result) string {
	return func(r Result) string { return measure.Duration(f(r)) }
}

func percent(f func(Result) float64) func(Result) string {
	return func(r Result) string { return fmt.Sprintf("%.1f %%", 100*f(r)) }
}

// when prints a dash for results of which f would say nothing true.
func when(known func(Result) bool, f func(Result) string) func(Result) string {
	return func(r Result) string {
		if !known(r) {
			return "-"
		}
		return f(r)
	}
}

func finished(r Result) bool       { return r.Finished }
func healthyThrough(r Result) bool { return r.healthy && r.HealthyMakespanSeconds > 0 }
func measured(r Result) bool       { return r.measured }
func estimated(r Result) bool      { return r.EstimatedWaits > 0 }

var rows = []row{
	{"policy", func(r Result) string { return string(r.Policy) }},
	{"via", func(r Result) string { return string(r.Via) }},
	{"limit", number(func(r Result) int { return r.Limit })},
	{"seed", func(r Result) string { return fmt.Sprint(r.Seed) }},
	{"hosts", number(func(r Result) int { return r.Hosts })},
	{"provisioned", number(func(r Result) int { return r.Provisioned })},
	{"given up", number(func(r Result) int { return r.Failed })},
	{"peak of working hosts", func(r Result) string {
		if r.Exceeded() {
			return fmt.Sprintf("%d ABOVE", r.PeakWorking)
		}
		return fmt.Sprint(r.PeakWorking)
	}},
	{"time above the limit", duration(func(r Result) float64 { return r.OverLimitSeconds })},
	{"slots occupied", when(measured, percent(func(r Result) float64 { return r.SlotUse }))},
	{"slots really working", when(measured, percent(func(r Result) float64 { return r.TruthUse }))},
	{"finished", func(r Result) string {
		if r.Finished {
			return "yes"
		}
		return fmt.Sprintf("%d of %d through", r.Through(), r.Hosts)
	}},
	{"makespan", when(finished, duration(func(r Result) float64 { return r.MakespanSeconds }))},
	{"makespan, healthy hosts", when(healthyThrough, duration(func(r Result) float64 { return r.HealthyMakespanSeconds }))},
	{"wait, mean", duration(func(r Result) float64 { return r.MeanWaitSeconds })},
	{"wait, 95 % within", duration(func(r Result) float64 { return r.P95WaitSeconds })},
	{"wait, longest", duration(func(r Result) float64 { return r.LongestWaitSeconds })},
	{"within 50 % estimate", when(estimated, percent(func(r Result) float64 { return r.EstimateHalf }))},
	{"within 90 % estimate", when(estimated, percent(func(r Result) float64 { return r.EstimateMost }))},
	{"fairness of tenants (Jain)", func(r Result) string { return fmt.Sprintf("%.3f", r.JainTenants) }},
	{"grants apart, at most", number(func(r Result) int { return r.GrantSpread })},
	{"overtaken within a tenant", number(func(r Result) int { return r.Overtaken })},
	{"work for broken hosts", percent(func(r Result) float64 { return r.FailingSlotShare })},
	{"asks", number(func(r Result) int { return r.Asks })},
	{"requests to Ironic", number(func(r Result) int { return r.IronicRequests })},
	{"of these lists", number(func(r Result) int { return r.IronicListRequests })},
}
