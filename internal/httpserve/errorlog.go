package httpserve

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/logging"
)

// strangersGap is the least time between two lines about clients that we cannot speak
// with: anybody can cause them, and needs no token for it.
const strangersGap = time.Minute

// ErrorLog is for an http.Server's own log, what it cannot tell a client. Handshakes that
// fail are told once in a while, with how many were not; connections without a word, as
// those of a load balancer's check, only to who debugs.
func ErrorLog(to *slog.Logger) slog.Handler {
	return &errorLines{to.Handler(), &logging.Rare{Gap: strangersGap}, &logging.Rare{}}
}

// errorLines passes lines on, some of them as such for debugging.
type errorLines struct {
	to                slog.Handler
	strangers, others *logging.Rare
}

// Enabled is slog.Handler's.
func (e *errorLines) Enabled(ctx context.Context, l slog.Level) bool { return e.to.Enabled(ctx, l) }

// Handle is slog.Handler's.
func (e *errorLines) Handle(ctx context.Context, r slog.Record) error {
	about := e.others
	if strings.HasPrefix(r.Message, "http: panic serving") {
		return e.to.Handle(ctx, r) // a mistake of ours
	}
	if strings.HasPrefix(r.Message, "http: TLS handshake error") {
		about = e.strangers
		if strings.HasSuffix(r.Message, ": EOF") || strings.HasSuffix(r.Message, ": connection reset by peer") {
			about = nil
		}
	}
	told := false
	if about != nil {
		var kept int
		if kept, told = about.Tell(r.Time); told {
			r.AddAttrs(slog.Int("before", kept))
		}
	}
	if !told {
		r.Level = slog.LevelDebug
		if !e.to.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return e.to.Handle(ctx, r)
}

// WithAttrs is slog.Handler's.
func (e *errorLines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &errorLines{e.to.WithAttrs(attrs), e.strangers, e.others}
}

// WithGroup is slog.Handler's.
func (e *errorLines) WithGroup(name string) slog.Handler {
	return &errorLines{e.to.WithGroup(name), e.strangers, e.others}
}
