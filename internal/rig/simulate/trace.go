package simulate

import (
	"encoding/csv"
	"fmt"
	"io"
	"time"
)

// point is what a picture and --csv show of a moment.
type point struct {
	after             time.Duration // the start of the storm
	working, occupied int
	limit             int // in force
	booting           int // hosts at once
	lost              int // boots, so far
}

// samplePeriod is the time between two points.
const samplePeriod = 5 * time.Second

// sample keeps a point.
func (m *meter) sample() {
	truth := m.s.world.Truth(m.s.clock)
	m.series = append(m.series, point{
		time.Duration(m.s.now - m.begun), m.highest, int(m.occupied.value), int(m.sizing.limit.value), truth.Booting, truth.LostBoots,
	})
	m.highest = int(m.working.value)
	m.s.after(samplePeriod, m.sample)
}

// writeCSV writes all points of all storms, one a row.
func writeCSV(out io.Writer, results []Result) error {
	w := csv.NewWriter(out)
	rows := [][]string{{
		"policy", "limit", "limit_mode", "seed", "breaker", "holdoff_seconds", "seconds", "working", "occupied", "limit_in_force", "booting", "lost_boots",
	}}
	for _, r := range results {
		for _, p := range r.series {
			var row []string
			for _, v := range []any{
				r.Policy, r.Limit, r.LimitMode, r.Seed, r.Breaker, r.HoldoffSeconds, p.after.Seconds(), p.working, p.occupied, p.limit, p.booting, p.lost,
			} {
				row = append(row, fmt.Sprint(v))
			}
			rows = append(rows, row)
		}
	}
	return w.WriteAll(rows)
}
