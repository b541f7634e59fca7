// Package httpserve runs HTTP servers and ends them cleanly.
package httpserve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is one http.Server with its open listener. Serve sets its ConnState and ConnContext hooks.
type Server struct {
	Name     string // in errors
	HTTP     *http.Server
	Listen   net.Listener
	MaxConns int    // connections at once, fewer if descriptors are few; 0: the constant MaxConns
	Cut      func() // Serve calls it before it cuts requests that took longer than drain; may be nil
}

// Serve answers on all listeners until ctx ends or one of them fails. Then it takes nothing new, gives requests in
// flight drain to end, and cuts the rest. It returns what went wrong, each error with the name of its server. A
// connection without a request is no error and delays nothing.
func Serve(ctx context.Context, drain time.Duration, all ...Server) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	fit := ConnsWithin(Descriptors())
	errs := make([]error, 2*len(all))
	var running sync.WaitGroup
	for i, s := range all {
		limit(&s, min(fit, cmp.Or(s.MaxConns, MaxConns)))
		running.Go(func() {
			defer end() // all servers
			errs[2*i] = s.serve()
		})
		running.Go(func() {
			<-ctx.Done()
			errs[2*i+1] = s.shutdown(context.WithoutCancel(ctx), drain)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// serve answers, with TLS if the server has a TLSConfig, until shutdown, which is no error.
func (s Server) serve() error {
	serve := s.HTTP.Serve
	if s.HTTP.TLSConfig != nil {
		serve = func(l net.Listener) error { return s.HTTP.ServeTLS(l, "", "") }
	}
	if err := serve(s.Listen); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s listener: %w", s.Name, err)
	}
	return nil
}

// shutdown ends the server and cuts requests that take longer than drain.
func (s Server) shutdown(ctx context.Context, drain time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, drain)
	defer cancel()
	err := s.HTTP.Shutdown(ctx)
	if err == nil {
		return nil
	}
	if s.Cut != nil {
		s.Cut()
	}
	return fmt.Errorf("%s: requests were cut at the end: %w", s.Name, errors.Join(err, s.HTTP.Close()))
}
