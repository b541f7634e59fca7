package decisionlog

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Decision is what Watch reads; admission.Controller implements it.
type Decision interface {
	View(now time.Time) api.View
	Sizing(now time.Time) api.Sizing
}

// Watch logs, until ctx ends, what no single poll shows: that the view of Ironic is too old for a new host to start, or
// fresh again, whether polls fail or take too long; that after a start all busy hosts are known; and how limits change.
// It then returns nil.
func Watch(ctx context.Context, log *slog.Logger, now func() time.Time, d Decision) error {
	view, limits := viewLog{log: log}, limitLog{log: log}
	views, sizings := time.NewTicker(viewGap), time.NewTicker(limitsGap)
	defer views.Stop()
	defer sizings.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-views.C:
			at := now()
			view.step(at, d.View(at))
		case <-sizings.C:
			at := now()
			limits.step(d.Sizing(at))
		}
	}
}

// The times between two looks: a limit changes after a round of boots, which takes minutes.
const (
	viewGap   = time.Second
	limitsGap = 10 * time.Second
)

type viewLog struct {
	log     *slog.Logger
	lost    time.Time // since when the view is too old; zero: it is not
	settled bool
}

// step logs a change. Before the first complete poll, the view is not lost.
func (l *viewLog) step(now time.Time, v api.View) {
	if v.Settled && !l.settled {
		l.settled = true
		l.log.Info("start complete: all hosts at work are known, slots are given from now on")
	}
	switch {
	case v.Polls == 0 || v.Fresh == l.lost.IsZero():
	case v.Fresh:
		l.log.Info("view fresh again: hosts may start", "after", api.Age(now.Sub(l.lost)))
		l.lost = time.Time{}
	default:
		l.lost = now
		args := []any{"lastPoll", api.Seconds(v.AgeSeconds)}
		if v.LastError != "" {
			args = append(args, "error", v.LastError)
		} else {
			args = append(args, "cause", "the polls of Ironic take too long")
		}
		l.log.Warn("view stale: no host without a slot may start until a poll of Ironic is complete", args...)
	}
}

// limitLog logs changes of limits that follow the boots.
type limitLog struct {
	log  *slog.Logger
	told map[string]api.PoolSizing // by pool
}

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
