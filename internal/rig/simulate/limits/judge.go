package limits

import "slices"

// The bounds that an adaptive limit must keep.
const (
	mostMedian  = 1.10 // makespan by that of the best fixed limit, the middle of all seeds
	mostWorst   = 1.35 // and the worst
	mostUsual   = 1.05 // makespan by that of the usual limit, where that is the best: no seed more
	leastRight  = 0.80 // part of the cells with a recommended limit where it is right
	mostSettled = 5    // windows after a change of capacity
)

// Finding is how well a cell was played.
type Finding struct {
	Cell Cell
	// Best is the best fixed limit, Makespan its own in seconds and Usual the usual limit's by that.
	Best            int
	Makespan, Usual float64
	// Median and Worst are the makespans of all seeds by that of the best fixed limit.
	Median, Worst float64
	// OverUsual is the worst makespan by the usual limit's with the same seed, where that is the best
	// limit; else 0.
	OverUsual             float64
	LimitMean, LimitAtEnd float64 // the middle of all seeds
	Recommended           float64 // the same of those with a number
	// Numbers is how many seeds gave a number, Right how many of these are near a limit as good as the best.
	// Judged: it is known which are.
	Numbers, Right int
	Judged         bool
	Settled        int // the most windows of all seeds; -1: nobody can tell
	Above          int // seeds with a moment above the ceiling
}

// Judge compares all cells with what is known of fixed limits. unknown are those of which nothing is.
func (p Plan) Judge(cases []Case) (found []Finding, unknown []Cell) {
	for _, c := range cases {
		if p.Table[c.Cell] == nil {
			unknown = append(unknown, c.Cell)
			continue
		}
		found = append(found, p.judge(c))
	}
	return found, unknown
}

func (p Plan) judge(c Case) Finding {
	fixed, ceiling := p.Table[c.Cell], c.Cell.Ceiling()
	f := Finding{Cell: c.Cell, Settled: -1}
	f.Best, f.Makespan = fixed.Best(ceiling)
	f.Usual = Median(fixed[usual]) / f.Makespan
	atEnd := p.Table[c.Cell.AtEnd()]
	f.Judged = atEnd != nil
	var ratios, means, ends, numbers []float64
	for i, r := range c.Runs {
		ratios, means, ends = append(ratios, r.Makespan/f.Makespan), append(means, r.LimitMean), append(ends, float64(r.LimitAtEnd))
		if f.Best == usual {
			same := Median(fixed[usual])
			if i < len(fixed[usual]) {
				same = fixed[usual][i]
			}
			f.OverUsual = max(f.OverUsual, r.Makespan/same)
		}
		if r.Recommended > 0 {
			numbers = append(numbers, float64(r.Recommended))
			if f.Judged && atEnd.Right(r.Recommended, ceiling) {
				f.Right++
			}
		}
		if max(r.Peak, r.Highest) > ceiling {
			f.Above++
		}
		f.Settled = max(f.Settled, r.Settled)
	}
	f.Median, f.Worst = Median(ratios), slices.Max(ratios)
	f.LimitMean, f.LimitAtEnd, f.Recommended, f.Numbers = Median(means), Median(ends), Median(numbers), len(numbers)
	return f
}

// right reports whether at least half of the recommended limits are.
func (f *Finding) right() bool { return 2*f.Right >= f.Numbers }

// Summary counts what kept its bound, of how many.
type Summary struct {
	Cells, Median, Worst int
	UsualBest, Usual     int
	Numbers, Right       int
	Stepped, Settled     int
	Above                int
}

// Summarize counts.
func Summarize(found []Finding) Summary {
	s := Summary{Cells: len(found)}
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	for _, f := range found {
		count(&s.Median, f.Median <= mostMedian)
		count(&s.Worst, f.Worst <= mostWorst)
		count(&s.UsualBest, f.OverUsual > 0)
		count(&s.Usual, f.OverUsual > 0 && f.OverUsual <= mostUsual)
		count(&s.Numbers, f.Judged && f.Numbers > 0)
		count(&s.Right, f.Judged && f.Numbers > 0 && f.right())
		count(&s.Stepped, f.Settled >= 0)
		count(&s.Settled, f.Settled >= 0 && f.Settled <= mostSettled)
		s.Above += f.Above
	}
	return s
}

// Kept reports whether all bounds are.
func (s Summary) Kept() bool {
	return s.Median == s.Cells && s.Worst == s.Cells && s.Usual == s.UsualBest && s.Settled == s.Stepped && s.Above == 0 &&
		float64(s.Right) >= leastRight*float64(s.Numbers)
}
