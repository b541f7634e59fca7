package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Listeners are open; a nil one is not served. Serve closes them.
type Listeners struct {
	API, Health, Metrics net.Listener
}

// running is one http.Server with its listener.
type running struct {
	name   string
	http   *http.Server
	listen net.Listener
}

// Serve answers on all listeners until ctx ends or one of them fails. Then it
// takes nothing new, answers what is in flight, and returns within 5 s: nil, or
// what went wrong, each error with the name of its listener. A connection on which
// nothing was asked is no error and delays nothing.
func (s *Server) Serve(ctx context.Context, l Listeners) error {
	var all []running
	for _, r := range []running{
		{"API", s.newHTTP(s.api), l.API}, {"health", s.newHTTP(s.health), l.Health}, {"metrics", s.newHTTP(s.metrics), l.Metrics},
	} {
		if r.listen != nil {
			all = append(all, r)
		}
	}
	ended := make(chan error, len(all))
	for _, r := range all {
		go func() {
			err := r.http.Serve(r.listen)
			if errors.Is(err, http.ErrServerClosed) {
				err = nil
			} else {
				err = fmt.Errorf("%s listener: %w", r.name, err)
			}
			ended <- err
		}()
	}
	var errs []error
	left := len(all)
	if left > 0 {
		select {
		case <-ctx.Done():
		case err := <-ended:
			errs = append(errs, err)
			left--
		}
	}
	errs = append(errs, shutdown(ctx, s.drain, all)...)
	for range left {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}

// shutdown ends all servers side by side and cuts what takes longer than drain.
func shutdown(ctx context.Context, drain time.Duration, all []running) []error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	closed := make(chan error, len(all))
	for _, r := range all {
		go func() {
			err := r.http.Shutdown(ctx)
			if err != nil {
				err = fmt.Errorf("%s: requests were cut at the end: %w", r.name, errors.Join(err, r.http.Close()))
			}
			closed <- err
		}()
	}
	var errs []error
	for range all {
		errs = append(errs, <-closed)
	}
	return errs
}

// newHTTP bounds everything that a client could stretch, the end included.
func (s *Server) newHTTP(h http.Handler) *http.Server {
	var first fresh
	hs := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ConnState:         first.track,
	}
	hs.RegisterOnShutdown(first.end)
	return hs
}
