package limits

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// Write prints a line for each cell, and what the bounds came to.
func Write(out io.Writer, found []Finding, unknown []Cell) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "cell\tbest\tmakespan\tat %d\tmedian\tworst\tlimit, mean\tat the end\trecommended\tright\tsettled\tbroken\t\n", usual)
	for _, f := range found {
		fmt.Fprintf(w, "%s\t%d\t%s\t%.2f\t%.3f\t%.3f\t%.0f\t%.0f\t%s\t%s\t%s\t%s\t\n", f.Cell, f.Best, measure.Duration(f.Makespan), f.Usual,
			f.Median, f.Worst, f.LimitMean, f.LimitAtEnd, dash(f.Numbers > 0, "%.0f", f.Recommended),
			dash(f.Judged && f.Numbers > 0, "%d of %d", f.Right, f.Numbers), dash(f.Settled >= 0, "%d", f.Settled), f.broken())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range unknown {
		fmt.Fprintf(out, "%s: no fixed limits are known\n", c)
	}
	s := Summarize(found)
	_, err := fmt.Fprintf(out, `%d cells by the best fixed limit: median <= %.2f in %d, worst <= %.2f in %d
%d cells where %d is the best: <= %.2f x of it in %d
%d cells with a recommended limit: near a best one in %d (%.0f %% needed)
%d cells with a change of capacity: settled within %d windows in %d
%d storms with a moment above the ceiling
`, s.Cells, mostMedian, s.Median, mostWorst, s.Worst, s.UsualBest, usual, mostUsual, s.Usual,
		s.Numbers, s.Right, 100*leastRight, s.Stepped, mostSettled, s.Settled, s.Above)
	return err
}

func dash(known bool, format string, args ...any) string {
	if !known {
		return "-"
	}
	return fmt.Sprintf(format, args...)
}

// broken names the bounds that the cell did not keep.
func (f *Finding) broken() string {
	var out []string
	for _, bound := range []struct {
		name   string
		broken bool
	}{
		{"median", f.Median > mostMedian},
		{"worst", f.Worst > mostWorst},
		{fmt.Sprintf("slower than %d", usual), f.OverUsual > mostUsual},
		{"recommended", f.Judged && !f.right()},
		{"settled", f.Settled > mostSettled},
		{"ABOVE THE CEILING", f.Above > 0},
	} {
		if bound.broken {
			out = append(out, bound.name)
		}
	}
	return strings.Join(out, ", ")
}
