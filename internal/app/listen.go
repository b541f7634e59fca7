package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/access"
	"github.com/ironic-throttle/ironic-throttle/internal/server"
)

// listeners are open; those without an address are nil.
type listeners struct {
	server.Listeners
	gateway net.Listener
}

// listen opens every listener that has an address, or none.
func listen(ctx context.Context, c config.Config) (listeners, error) {
	var l listeners
	var errs []error
	for _, one := range []struct {
		setting, address string
		to               *net.Listener
	}{
		{"IRONIC_THROTTLE_LISTEN_ADDRESS", c.Listen.API, &l.API},
		{"IRONIC_THROTTLE_LISTEN_ADDRESS (for this machine)", c.Listen.Local, &l.Local},
		{"IRONIC_THROTTLE_HEALTH_PROBE_BIND_ADDRESS", c.Listen.Health, &l.Health},
		{"IRONIC_THROTTLE_METRICS_BIND_ADDRESS", c.Listen.Metrics, &l.Metrics},
		{"IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS", c.Gateway.Listen, &l.gateway},
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
	for _, opened := range []net.Listener{l.API, l.Local, l.Health, l.Metrics, l.gateway} {
		if opened != nil {
			errs = append(errs, opened.Close())
		}
	}
	return listeners{}, errors.Join(errs...)
}

// Addresses are the URLs of what is served; "" where something is not.
type Addresses struct {
	API     string `json:"api"`             // and the page
	Local   string `json:"local,omitempty"` // the same, for everybody on this machine
	Health  string `json:"health,omitempty"`
	Metrics string `json:"metrics,omitempty"`
	Gateway string `json:"gateway,omitempty"` // what BMO's IRONIC_ENDPOINT may name, less /v1
}

// Addresses are how to reach a from this machine.
func (a *App) Addresses() Addresses {
	l := a.listeners
	return Addresses{
		API: urlOf(a.api.cert, l.API), Local: urlOf(nil, l.Local), Health: urlOf(nil, l.Health),
		Metrics: urlOf(a.metrics.cert, l.Metrics), Gateway: urlOf(a.gatewayCert, l.gateway),
	}
}

// urlOf is how to reach l, which has that certificate; nil: none.
func urlOf(cert *httpserve.InUse, l net.Listener) string {
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
	if cert != nil {
		return "https://" + net.JoinHostPort(host, port)
	}
	return "http://" + net.JoinHostPort(host, port)
}

// accessPart keeps what stands in front of the API and of /metrics.
type accessPart struct{ api, metrics door }

// door is what stands in front of a listener; the zero value is an open door.
type door struct {
	cert   *httpserve.InUse // nil: plain HTTP
	access server.Access    // nil: everybody may do everything
}

// newAccess reads certificates and makes the check of who asks, where c wants them. cluster may be nil where it is not needed.
func newAccess(c config.Config, cluster *kube.Cluster, now func() time.Time, log *slog.Logger) (p accessPart, err error) {
	if p.api.cert, err = certificates("API", c.CertDirFor(c.Listen.API, c.Guarded()), c.Access, now, log).Open(); err != nil {
		return p, err
	}
	if p.metrics.cert, err = certificates("metrics", c.CertDirFor(c.Listen.Metrics, c.MetricsGuarded()), c.Access, now, log).Open(); err != nil {
		return p, err
	}
	if !c.Guarded() && !c.MetricsGuarded() {
		return p, nil
	}
	if cluster == nil {
		return p, errors.New("access: who may use the API is asked of a cluster, and there is none: set IRONIC_THROTTLE_KUBERNETES=on")
	}
	checker := access.New(cluster.Client, log)
	if c.Guarded() {
		p.api.access = checker
	}
	if c.MetricsGuarded() {
		p.metrics.access = checker
	}
	return p, nil
}

// certificates are those of a listener.
func certificates(name, dir string, a config.Access, now func() time.Time, log *slog.Logger) httpserve.Certificates {
	conf := &tls.Config{MinVersion: a.MinVersion(), CipherSuites: a.CipherSuites(), NextProtos: []string{"http/1.1"}}
	return httpserve.Certificates{Name: name, Dir: dir, TLS: conf, Log: log, Now: now}
}
