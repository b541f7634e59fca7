package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
)

// Listeners are open, or nil for those that do not exist. Serve closes them.
type Listeners struct {
	API, Health, Metrics net.Listener
	// Local serves the API too, in plain HTTP and without Access: other machines must not reach it.
	Local net.Listener
}

// Serve answers on all listeners until ctx ends or one of them fails. Then it takes nothing new, answers requests in
// flight, and returns within 5 s. Each error names its listener. A connection without a request is no error and delays
// nothing.
func (s *Server) Serve(ctx context.Context, l Listeners) error {
	served, scraped := s.newHTTP(s.api), s.newHTTP(s.metrics)
	served.TLSConfig, scraped.TLSConfig = s.opts.TLS, s.opts.MetricsTLS
	if l.API != nil && s.opts.TLS == nil { // with TLS the client itself checks the name in the certificate
		names := httpserve.NamesOf(l.API, "IRONIC_THROTTLE_LISTEN_ADDRESS", s.opts.Address)
		s.gate.names = &names
	}
	var all []httpserve.Server
	for _, one := range []httpserve.Server{
		{Name: "API", HTTP: served, Listen: l.API},
		{Name: "local API", HTTP: s.newHTTP(s.local), Listen: l.Local},
		{Name: "health", HTTP: s.newHTTP(s.health), Listen: l.Health, MaxConns: fewConns},
		{Name: "metrics", HTTP: scraped, Listen: l.Metrics, MaxConns: fewConns},
	} {
		if one.Listen != nil {
			all = append(all, one)
		}
	}
	return httpserve.Serve(ctx, s.drain, all...)
}

// newHTTP returns a server with a bound on everything that a client could stretch.
func (s *Server) newHTTP(h http.Handler) *http.Server {
	made := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(httpserve.ErrorLog(s.opts.Log), slog.LevelWarn),
	}
	made.RegisterOnShutdown(s.end) // this ends a plan that the Planner still makes
	return made
}
