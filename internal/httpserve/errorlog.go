package httpserve

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/logging"
)

// strangersGap is the least time between two lines about failed TLS handshakes: anybody can cause them.
const strangersGap = time.Minute

// ErrorLog returns the handler for the log of an http.Server. It logs a line of a kind once in a while, with the count
// of those left out. Only level debug has them all, and those about silent connections, as of a load balancer's check.
func ErrorLog(to *slog.Logger) slog.Handler {
	return &errorLines{Handler: to.Handler(), strangers: logging.Rare{Gap: strangersGap}}
}

// errorLines passes lines on, some of them at level debug.
type errorLines struct {
	slog.Handler
	strangers, others logging.Rare
}

// Handle implements slog.Handler.
func (e *errorLines) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "http: panic serving") || strings.HasPrefix(r.Message, "error gathering metrics") {
		return e.Handler.Handle(ctx, r) // a bug of the throttle
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
