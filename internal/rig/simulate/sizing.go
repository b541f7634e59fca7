package simulate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// Sizing is what became of the limit, and what the throttle has learned of it. Other rules learn nothing.
type Sizing struct {
	LimitMode string `json:"limitMode"` // api.LimitFixed or api.LimitAdaptive
	// LimitMean is the limit in force on average, LimitAtEnd the last one. Limit is the ceiling of both.
	LimitMean  float64 `json:"limitMean"`
	LimitAtEnd int     `json:"limitAtEnd"`
	// RecommendedLimit is what the throttle recommends at the end; 0: there is not enough evidence.
	RecommendedLimit int    `json:"recommendedLimit"`
	LimitVerdict     string `json:"limitVerdict"`  // api.SizingUnknown and so on
	LimitEvidence    string `json:"limitEvidence"` // why, in a sentence

}

// words of --limit-mode.
var (
	limitFixed    = api.LimitFixed
	limitAdaptive = api.LimitAdaptive
	limitModes    = api.LimitModes()
)

// sizingFaults tells what is wrong with the limit's mode, and with what is known of an earlier storm.
func (o *Options) sizingFaults() []error {
	var errs []error
	if o.Adaptive && o.Policy != measure.PolicyThrottle {
		errs = append(errs, fmt.Errorf("--limit-mode %s: goes with --policy throttle alone, no other rule changes its limit", limitAdaptive))
	}
	return errs
}

// sizingMeter follows the limit.
type sizingMeter struct {
	limit integral // in force
	base  int64    // its sum when the storm began
}

func (z *sizingMeter) begin(s *sim) {
	z.follow(s)
	z.base = z.limit.at(s.now)
}

// follow looks at the limit in force after a poll, which alone may change it.
func (z *sizingMeter) follow(s *sim) {
	limit := s.opt.Limit
	if t, ok := s.rule.(*throttle); ok && s.opt.Adaptive {
		limit = t.c.Vacancy(s.clock).Slots.Limit
	}
	z.limit.set(int64(limit), s.now)
}

func (z *sizingMeter) fill(s *sim, r *Result) {
	r.LimitMode, r.LimitVerdict = limitFixed, api.SizingUnknown
	r.LimitMean, r.LimitAtEnd = float64(s.opt.Limit), s.opt.Limit
	if s.opt.Adaptive {
		r.LimitMode = limitAdaptive
		r.LimitAtEnd = int(z.limit.value)
		if d := s.now - s.meter.begun; s.meter.begun > 0 && d > 0 {
			r.LimitMean = measure.Round(float64(z.limit.at(s.now)-z.base) / float64(d))
		}
	}
	t, ok := s.rule.(*throttle)
	if !ok {
		return
	}
	for _, p := range t.c.Status(s.clock).Sizing.Pools {
		if p.Pool == "" {
			r.RecommendedLimit, r.LimitVerdict, r.LimitEvidence = p.Recommended, p.Verdict, p.Evidence
		}
	}
}

// remember keeps what a throttle that is killed has learned, as the file of the holds does.
func (s *sim) remember() {
	if t, ok := s.rule.(*throttle); ok {
		s.learned = t.c.LearnedLimits()
	}
}

// remembered reads it as the next one does.
func (s *sim) remembered() (sizing.State, error) {
	if len(s.learned.Pools) == 0 {
		return sizing.State{}, nil
	}
	text, err := s.learned.Text()
	if err != nil {
		return sizing.State{}, err
	}
	return sizing.ParseState(text)
}

// modes lists the storms of o with every limit mode.
func (g *Grid) modes(o Options) []Options {
	var out []Options
	for _, mode := range g.LimitModes {
		o.Adaptive = mode == limitAdaptive
		out = append(out, o)
	}
	return out
}

// modeFaults tells what is wrong with the words of --limit-mode.
func (g *Grid) modeFaults() error {
	var errs []error
	for _, word := range g.LimitModes {
		if !slices.Contains(limitModes, word) {
			errs = append(errs, fmt.Errorf("--limit-mode %q: must be %s or %s%s", word, limitFixed, limitAdaptive, didYouMean(word, limitModes)))
		}
	}
	return errors.Join(errs...)
}

// tableRows are the lines of the table, those on limits below the limit.
func tableRows(results []Result) []row {
	at := 1 + slices.IndexFunc(rows, func(r row) bool { return r.name == "limit" })
	return slices.Concat(rows[:at], sizingRows(results), rows[at:])
}

// sizingRows are the lines of the table on limits: those that say something of one of the results.
func sizingRows(results []Result) []row {
	var out []row
	if slices.ContainsFunc(results, func(r Result) bool { return r.LimitMode == limitAdaptive }) {
		out = append(out,
			row{"limit mode", func(r Result) string { return r.LimitMode }},
			row{"limit in force, mean", func(r Result) string { return fmt.Sprintf("%.1f", r.LimitMean) }},
			row{"limit in force, at the end", number(func(r Result) int { return r.LimitAtEnd })},
		)
	}
	recommended := func(r Result) bool { return r.RecommendedLimit > 0 }
	if slices.ContainsFunc(results, recommended) {
		out = append(out, row{"recommended limit", when(recommended, number(func(r Result) int { return r.RecommendedLimit }))})
	}
	return out
}
