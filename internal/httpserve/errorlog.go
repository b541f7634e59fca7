package httpserve

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/logging"
)

// strangersGap is the least time between two lines about clients that we cannot speak with: anybody can cause them.
const strangersGap = time.Minute

// ErrorLog is for an http.Server's own log, what it cannot tell a client. Handshakes that
// fail are told once in a while, with how many were not; connections without a word, as
// those of a load balancer's check, only to who debugs.
func ErrorLog(to *slog.Logger) slog.Handler {
	return &errorLines{Handler: to.Handler(), strangers: logging.Rare{Gap: strangersGap}}
}

// errorLines passes lines on, some of them as such for debugging.
type errorLines struct {
	slog.Handler
	strangers, others logging.Rare
}

// Handle is slog.Handler's.
func (e *errorLines) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "http: panic serving") || strings.HasPrefix(r.Message, "error gathering metrics") {
		return e.Handler.Handle(ctx, r) // a mistake of ours
	}
	about, told := &e.others, false
	if strings.HasPrefix(r.Message, "http: TLS handshake error") {
		about = &e.strangers
	}
	if !strings.HasSuffix(r.Message, ": EOF") && !strings.HasSuffix(r.Message, ": connection reset by peer") {
		var kept int
		kept, told = about.Tell(r.Time)
		r.AddAttrs(slog.Int("before", kept))
	}
	if !told {
		r.Level = slog.LevelDebug
	}
	if !e.Enabled(ctx, r.Level) {
		return nil
	}
	return e.Handler.Handle(ctx, r)
}
