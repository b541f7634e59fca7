package decisionlog

import (
	"context"
	"log/slog"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// View says in the log when the view of Ironic is too old for a new host to start, and
// when it is young enough again, whatever the reason: polls that fail, or that take too
// long. It checks that every viewGap until ctx ends.
func View(ctx context.Context, log *slog.Logger, now func() time.Time, view func(now time.Time) api.View) error {
	l := viewLog{log: log}
	tick := time.NewTicker(viewGap)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			at := now()
			l.step(at, view(at))
		}
	}
}

// viewGap is the time between two checks of the view's age.
const viewGap = time.Second

type viewLog struct {
	log  *slog.Logger
	lost time.Time // since when the view is too old; zero: it is not
}

// step logs what has changed. Before the first complete poll nothing is lost.
func (l *viewLog) step(now time.Time, v api.View) {
	age := time.Duration(v.AgeSeconds * float64(time.Second)).Round(time.Second)
	switch {
	case v.Polls == 0 || v.Fresh == l.lost.IsZero():
	case v.Fresh:
		l.log.Info("ironic is seen again: hosts may start", "after", now.Sub(l.lost).Round(time.Second))
		l.lost = time.Time{}
	default:
		l.lost = now
		args := []any{"lastSeen", age, "setting", "IRONIC_THROTTLE_MAX_STALE"}
		if v.LastError != "" {
			args = append(args, "error", v.LastError)
		} else {
			args = append(args, "cause", "the polls of Ironic take too long")
		}
		l.log.Warn("ironic was last seen too long ago: no host without a slot may start until a poll is complete", args...)
	}
}
