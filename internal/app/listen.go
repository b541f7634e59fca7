package app

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/server"
)

// listen opens every listener that has an address, or none.
func listen(ctx context.Context, at config.Listen) (server.Listeners, error) {
	var l server.Listeners
	var errs []error
	for _, one := range []struct {
		setting, address string
		to               *net.Listener
	}{
		{"LISTEN_ADDRESS", at.API, &l.API},
		{"HEALTH_LISTEN_ADDRESS", at.Health, &l.Health},
		{"METRICS_LISTEN_ADDRESS", at.Metrics, &l.Metrics},
	} {
		if one.address == "" {
			continue
		}
		var open net.ListenConfig
		opened, err := open.Listen(ctx, "tcp", one.address)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s=%q: cannot be listened on: %w", one.setting, one.address, err))
			continue
		}
		*one.to = opened
	}
	if len(errs) == 0 {
		return l, nil
	}
	for _, opened := range []net.Listener{l.API, l.Health, l.Metrics} {
		if opened != nil {
			errs = append(errs, opened.Close())
		}
	}
	return server.Listeners{}, errors.Join(errs...)
}

// addressOf is where l listens, as it is: [::]:9441 is every address there is.
func addressOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// urlOf is how to reach l from this machine.
func urlOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
