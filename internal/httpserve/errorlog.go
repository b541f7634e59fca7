package httpserve

import (
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rare"
)

// strangersGap is the least time between two lines about clients that we cannot speak
// with: anybody can cause them, and needs no token for it.
const strangersGap = time.Minute

// ErrorLog is an http.Server's own log: what it cannot tell a client. Handshakes that
// fail are told once in a while, with how many were not; connections without a word, as
// those of a load balancer's check, only to who debugs.
func ErrorLog(to *slog.Logger) *log.Logger {
	return log.New(&errorLines{
		log: to, now: time.Now, strangers: &rare.Line{Gap: strangersGap}, others: &rare.Line{},
	}, "", 0)
}

// errorLines takes the lines.
type errorLines struct {
	log               *slog.Logger
	now               func() time.Time
	strangers, others *rare.Line
}

// Write takes one line.
func (e *errorLines) Write(text []byte) (int, error) {
	line := strings.TrimRight(string(text), "\n")
	about := e.others
	if strings.HasPrefix(line, "http: TLS handshake error") {
		about = e.strangers
		if strings.HasSuffix(line, ": EOF") || strings.HasSuffix(line, ": connection reset by peer") {
			about = nil
		}
	}
	if about == nil {
		e.log.Debug(line)
	} else if kept, ok := about.Tell(e.now()); ok {
		e.log.Warn(line, "before", kept)
	} else {
		e.log.Debug(line)
	}
	return len(text), nil
}
