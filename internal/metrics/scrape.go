package metrics

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
)

// Handler answers scrapes.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(httpserve.ErrorLog(log), slog.LevelWarn), MaxRequestsInFlight: 4,
	})
}
