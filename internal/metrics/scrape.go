package metrics

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ironic-throttle/ironic-throttle/internal/logging"
)

// Handler answers scrapes.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: &scrapeLog{to: log, gone: logging.Rare{Gap: time.Minute}}, MaxRequestsInFlight: 4,
	})
}

// scrapeLog takes the errors of promhttp. Clients that go away while they read cause a line a minute, for debugging.
type scrapeLog struct {
	to   *slog.Logger
	gone logging.Rare
}

// Println implements promhttp.Logger.
func (l *scrapeLog) Println(v ...any) {
	line := strings.TrimSpace(fmt.Sprintln(v...))
	if strings.HasPrefix(line, "error gathering") { // a mistake of ours
		l.to.Error("metrics cannot be gathered", "error", line)
	} else if kept, ok := l.gone.Tell(time.Now()); ok {
		l.to.Debug("a client of /metrics has gone", "error", line, "before", kept)
	}
}
