// Package httpserve runs HTTP servers and ends them in good order.
package httpserve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is one http.Server with its open listener. Its ConnState and ConnContext hooks
// are taken.
type Server struct {
	Name     string // in errors
	HTTP     *http.Server
	Listen   net.Listener
	MaxConns int    // connections at the same time, fewer where descriptors are few; 0: MaxConns
	Cut      func() // called before requests are cut that took longer than drain; may be nil
}

// Serve answers on all listeners until ctx ends or one of them fails. Then it
// takes nothing new, gives requests in flight drain to end, cuts what is left, and
// returns: nil, or what went wrong, each error with the name of its server. A
// connection on which nothing was asked is no error and delays nothing.
func Serve(ctx context.Context, drain time.Duration, all ...Server) error {
	ended := make(chan error, len(all))
	fit := ConnsWithin(Descriptors())
	for _, s := range all {
		limit(&s, min(fit, cmp.Or(s.MaxConns, MaxConns)))
		go func() { ended <- s.serve() }()
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
	errs = append(errs, shutdown(ctx, drain, all)...)
	for range left {
		errs = append(errs, <-ended)
	}
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

// shutdown ends all servers side by side and cuts what takes longer than drain.
func shutdown(ctx context.Context, drain time.Duration, all []Server) []error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	closed := make(chan error, len(all))
	for _, s := range all {
		go func() {
			err := s.HTTP.Shutdown(ctx)
			if err != nil {
				if s.Cut != nil {
					s.Cut()
				}
				err = fmt.Errorf("%s: requests were cut at the end: %w", s.Name, errors.Join(err, s.HTTP.Close()))
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
