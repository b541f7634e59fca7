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
				"atMost", is.Ceiling, "why", reason(was, is, s.Pools[0].Limit))
		}
		told[is.Pool] = is
	}
	l.told = told
}

// reason is why the limit is another one than was.
func reason(was, is api.PoolSizing, total int) string {
	switch fell := is.Limit < was.Limit; {
	case fell && is.Limit == is.Ceiling && is.Ceiling != was.Ceiling:
		return "no more are set"
	case fell && is.Pool != "" && is.Limit == total:
		return "there are no more slots in all"
	}
	return is.Evidence
}
