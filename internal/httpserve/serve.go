// Package httpserve runs HTTP servers and ends them in good order.
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

// Server is one http.Server with its open listener. Its ConnState and ConnContext hooks are taken.
type Server struct {
	Name     string // in errors
	HTTP     *http.Server
	Listen   net.Listener
	MaxConns int    // connections at the same time, fewer where descriptors are few; 0: MaxConns
	Cut      func() // called before requests are cut that took longer than drain; may be nil
}

// Serve answers on all listeners until ctx ends or one of them fails. Then it takes nothing new, gives requests in
// flight drain to end, cuts what is left, and returns: nil, or what went wrong, each error with the name of its
// server. A connection on which nothing was asked is no error and delays nothing.
func Serve(ctx context.Context, drain time.Duration, all ...Server) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	fit := ConnsWithin(Descriptors())
	errs := make([]error, 2*len(all))
	var running sync.WaitGroup
	for i, s := range all {
		limit(&s, min(fit, cmp.Or(s.MaxConns, MaxConns)))
		running.Go(func() {
			defer end() // of all of them
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

// serve answers until the server is shut down, which is no error, with TLS where it has a certificate.
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

// shutdown ends the server and cuts what takes longer than drain.
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
