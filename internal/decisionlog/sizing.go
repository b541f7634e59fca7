package decisionlog

import (
	"cmp"
	"log/slog"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// limitLog says in the log when a limit that follows the boots has changed.
type limitLog struct {
	log  *slog.Logger
	told map[string]api.PoolSizing // by pool
}

// step tells what has changed.
func (l *limitLog) step(s api.Sizing) {
	told := make(map[string]api.PoolSizing, len(s.Pools))
	for _, is := range s.Pools {
		was, known := l.told[is.Pool]
		if s.Mode == api.LimitAdaptive && known && is.Limit != was.Limit {
			l.log.Info("limit changed", "pool", cmp.Or(is.Pool, "(total)"), "was", was.Limit, "is", is.Limit,
				"atMost", is.Ceiling, "why", is.Evidence)
		}
		told[is.Pool] = is
	}
	l.told = told
}
