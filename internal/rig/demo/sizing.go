package demo

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
)

// Sizing is what became of the limit, and what the throttle recommends (docs/sizing.md).
type Sizing struct {
	LimitMode        string `json:"limitMode"`        // fixed or adaptive
	LimitAtEnd       int    `json:"limitAtEnd"`       // in force
	RecommendedLimit int    `json:"recommendedLimit"` // 0: there is not enough evidence
}

// sizing asks the throttle, if there is one.
func (s *stage) sizing() Sizing {
	out := Sizing{LimitMode: s.opt.LimitMode, LimitAtEnd: s.opt.Limit}
	if s.app == nil {
		return out
	}
	for _, p := range s.app.Status().Sizing.Pools {
		if p.Pool == "" {
			out.LimitAtEnd, out.RecommendedLimit = p.Limit, p.Recommended
		}
	}
	return out
}

// write prints what is more than the limit that was asked for.
func (s Sizing) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if s.LimitMode == config.LimitAdaptive {
		fmt.Fprintf(w, "limit mode             \t%s, at the end %d\n", s.LimitMode, s.LimitAtEnd)
	}
	if s.RecommendedLimit > 0 {
		fmt.Fprintf(w, "recommended limit      \t%d\n", s.RecommendedLimit)
	}
	return w.Flush()
}

// modeFault tells what is wrong with the limit's mode; "" is nothing.
func (o *Options) modeFault() string {
	switch mode := o.LimitMode; {
	case mode != config.LimitFixed && mode != config.LimitAdaptive:
		return "must be fixed or adaptive"
	case mode == config.LimitAdaptive && o.Policy != PolicyThrottle:
		return "goes with --policy throttle only, no other rule changes its limit"
	}
	return ""
}
