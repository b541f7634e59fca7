package decisionlog

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

// limitLog says in the log when a limit that follows the boots has changed, and, where limits are as they are set, when
// the boots speak for another one than before.
type limitLog struct {
	log  *slog.Logger
	told map[string]toldLimit // by pool
}

// toldLimit is what the reader of the log knows of a limit.
type toldLimit struct {
	api.PoolSizing           // the limit that was in force last, and the recommendation that was told
	at             time.Time // when that was
}

// adviceGap is the least time between two recommendations for one pool. A limit that changes is told whenever it does.
const adviceGap = 10 * time.Minute

// step tells what has changed.
func (l *limitLog) step(now time.Time, s api.Sizing) {
	told := make(map[string]toldLimit, len(s.Pools))
	adaptive := s.Mode == api.LimitAdaptive
	for _, p := range s.Pools {
		was, known := l.told[p.Pool]
		switch {
		case adaptive && known && p.Limit != was.Limit:
			l.changed(was.PoolSizing, p, s.Pools[0].Limit)
		case !adaptive && recommends(was.PoolSizing, p) && (was.at.IsZero() || now.Sub(was.at) >= adviceGap):
			l.recommended(p)
			was.Recommended, was.Verdict, was.at = p.Recommended, p.Verdict, now
		}
		was.Limit, was.Ceiling = p.Limit, p.Ceiling
		told[p.Pool] = was
	}
	l.told = told
}

// recommends reports whether is says something new to whoever knows told: a limit that differs by a
// fifth, or for the first time that fewer slots are better.
func recommends(told, is api.PoolSizing) bool {
	if is.Recommended == 0 {
		return false
	}
	if is.Verdict == api.SizingLower && told.Verdict != api.SizingLower {
		return true
	}
	before := cmp.Or(told.Recommended, is.Limit)
	return 5*max(is.Recommended-before, before-is.Recommended) >= before
}

func (l *limitLog) changed(was, is api.PoolSizing, total int) {
	l.log.LogAttrs(context.Background(), slog.LevelInfo, "limit changed", poolAttr(is.Pool),
		slog.Int("was", was.Limit), slog.Int("is", is.Limit), slog.Int("atMost", is.Ceiling), slog.String("why", reason(was, is, total)))
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

func (l *limitLog) recommended(p api.PoolSizing) {
	level, event := slog.LevelInfo, "another limit recommended"
	if p.Verdict == api.SizingLower {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		poolAttr(p.Pool), slog.Int("limit", p.Limit), slog.Int("recommended", p.Recommended),
		slog.String("verdict", p.Verdict), slog.String("why", p.Evidence), slog.String("setting", limitSetting(p.Pool)),
	}
	if p.Verdict != api.SizingLower && p.Recommended == p.Limit {
		event = "limit confirmed: it is the recommended one"
	}
	l.log.LogAttrs(context.Background(), level, event, attrs...) //nolint:sloglint // one of a closed list
}

func poolAttr(pool string) slog.Attr { return slog.String("pool", cmp.Or(pool, "(total)")) }

// limitSetting is what sets the limit of a pool.
func limitSetting(pool string) string {
	switch pool {
	case "":
		return "MAX_CONCURRENT_PROVISIONING_HOSTS"
	case slots.VirtualMediaPool:
		return "IRONIC_THROTTLE_VIRTUAL_MEDIA_LIMIT"
	}
	return "IRONIC_THROTTLE_POOL_LIMITS"
}
