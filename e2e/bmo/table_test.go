//go:build e2e

package bmo

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// row is one phase of one storm.
type row struct {
	cell
	figures
	phase                          phase
	hosts                          int
	requests, own, lists, askedFor int
	cpu                            time.Duration
	errorCount                     int64
	messages                       map[string]int
	notes                          []string
}

const tableHead = `| storm | limit/workers | phase | peak | makespan | slot use (with hosts between two works) | freed slot idle, median / p95 | longest without a start (and a host asks) | requests (our own, asked by the operator) / lists per host | API CPU per host | first 20 starts | errors |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`

// earlier are figures of the same storms with the operator's main branch of August 2026 and
// the product of November 2026, on two cores too, to stand beside those of now.
var earlier = map[string]string{
	"BMO alone 5/3": "peaks 7/7/7", "BMO alone 5/8": "peaks 10/11/10", "BMO alone 20/3": "peaks 21/21/22",
	"BMO alone 20/8": "peaks 26/26/27", "BMO alone 20/32": "peaks 45/24/27",
	"BMO alone 5/32":  "peaks 25/21/33, makespan 327/401/206 s, API CPU 0.69/0.65/0.33 s per host",
	"bare proxy 5/32": "peaks 5/5/5, makespan 164-189/282/114 s (8 workers), slot use 91-98 %, freed slot idle 0.1-0.8 s",
	"gateway 5/32":    "peaks 5/5/5, makespan 199/413/141 s, slot use 73/59/63 %, freed slot idle 4.4/6.0/4.4 s, 159/215/80 requests, API CPU 1.31/2.57/0.91 s per host",
	"gateway 20/32":   "peaks 20/20",
}

func (r row) String() string {
	perHost := func(n float64) float64 { return n / float64(max(1, r.hosts)) }
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }
	var first []string
	for _, namespace := range slices.Sorted(maps.Keys(r.First)) {
		first = append(first, fmt.Sprint(r.First[namespace]))
	}
	errors := fmt.Sprintf("errorCount %d", r.errorCount)
	for _, text := range slices.Sorted(maps.Keys(r.messages)) {
		errors += fmt.Sprintf("; %d x %.60q", r.messages[text], text)
	}
	if len(r.notes) > 0 {
		errors += " (" + strings.Join(r.notes, ", ") + ")"
	}
	asked := ""
	if r.askedFor > 0 {
		asked = fmt.Sprintf(", %.0f asked", perHost(float64(r.askedFor)))
	}
	return fmt.Sprintf("| %s | %d/%d | %s | %d | %.0f s | %.0f %% (%.0f %%) | %s / %s s | %s s (%s) | %.0f (%.0f%s) / %.1f | %.2f s | %s | %s |\n",
		cmp.Or(r.name, string(r.way)), r.limit, r.workers, r.phase, r.Peak, r.Makespan.Seconds(), 100*r.Use, 100*r.Held,
		seconds(quantile(r.Idle, 0.5)), seconds(quantile(r.Idle, 0.95)), seconds(r.Lull), seconds(r.Unheard),
		perHost(float64(r.requests)), perHost(float64(r.own)), asked, perHost(float64(r.lists)),
		perHost(r.cpu.Seconds()), strings.Join(first, "/"), errors)
}

// plain reports whether nothing befalls the storm.
func (c cell) plain() bool {
	return c.faults == nil && c.cores == 0 && c.failing == 0 && c.replicas == 0
}

// printTable shows rows in the log, and adds them to the file of the knob.
func printTable(t *testing.T, rows []row) {
	t.Helper()
	var b strings.Builder
	for i, r := range rows {
		if text, ok := earlier[fmt.Sprintf("%s %d/%d", r.way, r.limit, r.workers)]; ok && i == 0 && r.plain() {
			fmt.Fprintf(&b, "| %s, earlier | %d/%d | all | %s | | | | | | | | |\n", r.way, r.limit, r.workers, text)
		}
		b.WriteString(r.String())
	}
	t.Logf("\n%s%s", tableHead, b.String())
	if knobs.table == "" {
		return
	}
	text := b.String()
	if _, err := os.Stat(knobs.table); err != nil {
		text = tableHead + text
	}
	f, err := os.OpenFile(knobs.table, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = cmp.Or(f.Close(), err)
	}
	if err != nil {
		t.Error(err)
	}
}
