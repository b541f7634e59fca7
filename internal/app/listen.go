package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/server"
)

// listeners holds the open listeners; one without an address is nil.
type listeners struct {
	server.Listeners
	gateway net.Listener
}

// entrance is one listener: its name in the log, the setting of its address, and that address.
type entrance struct {
	name, setting, address string
	at                     *net.Listener
	cert                   *httpserve.InUse // nil: plain HTTP
}

// entrances returns all listeners that there can be, open or not.
func (a *App) entrances() []entrance {
	c, l := a.force.Load().config, &a.listeners
	return []entrance{
		{"api", "IRONIC_THROTTLE_LISTEN_ADDRESS", c.Listen.API, &l.API, a.api.cert},
		{"local", "IRONIC_THROTTLE_LISTEN_ADDRESS (for this machine)", c.Listen.Local, &l.Local, nil},
		{"health", "IRONIC_THROTTLE_HEALTH_PROBE_BIND_ADDRESS", c.Listen.Health, &l.Health, nil},
		{"metrics", "IRONIC_THROTTLE_METRICS_BIND_ADDRESS", c.Listen.Metrics, &l.Metrics, a.metrics.cert},
		{"gateway", "IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS", c.Gateway.Listen, &l.gateway, a.gatewayCert},
	}
}

// listen opens every listener that has an address. After an error none is open.
func (a *App) listen(ctx context.Context) error {
	var errs []error
	for _, e := range a.entrances() {
		if e.address == "" {
			continue
		}
		var open net.ListenConfig
		opened, err := open.Listen(ctx, "tcp", e.address)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s=%q: cannot listen there: %w", e.setting, e.address, err))
			continue
		}
		*e.at = opened
	}
	if len(errs) > 0 {
		for _, e := range a.entrances() {
			if *e.at != nil {
				errs = append(errs, (*e.at).Close())
			}
		}
	}
	return errors.Join(errs...)
}

// Addresses returns the URLs by which this machine reaches the open listeners: api (with the page), local (the same,
// without access control), health, metrics, and gateway (with /v1 behind it, a value for BMO's IRONIC_ENDPOINT).
func (a *App) Addresses() map[string]string {
	all := map[string]string{}
	for _, e := range a.entrances() {
		if *e.at != nil {
			all[e.name] = e.url()
		}
	}
	return all
}

// url returns the URL by which this machine reaches e, which must be open.
func (e entrance) url() string {
	host, port, err := net.SplitHostPort((*e.at).Addr().String())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if e.cert != nil {
		return "https://" + net.JoinHostPort(host, port)
	}
	return "http://" + net.JoinHostPort(host, port)
}

// accessPart guards the API and /metrics.
type accessPart struct{ api, metrics door }

// door guards one listener. The zero value lets everybody in.
type door struct {
	cert   *httpserve.InUse // nil: plain HTTP
	access server.Access    // nil: everybody may do everything
}

// newAccess reads the certificates and makes the check of callers, for the listeners for which c wants them.
func (a *App) newAccess(c config.Config) (err error) {
	asksAPI, asksMetrics := c.Guarded(), c.MetricsGuarded()
	if a.api.cert, err = a.certificates("API", c.CertDirFor(c.Listen.API, asksAPI), c.Access).Open(); err != nil {
		return err
	}
	a.metrics.cert, err = a.certificates("metrics", c.CertDirFor(c.Listen.Metrics, asksMetrics), c.Access).Open()
	switch {
	case err != nil:
		return err
	case !asksAPI && !asksMetrics:
		return nil
	case a.cluster == nil:
		return errors.New("access: only a cluster can say who may use the API, so set IRONIC_THROTTLE_KUBERNETES=on")
	}
	checker := kube.NewChecker(a.cluster.Client, a.log)
	if asksAPI {
		a.api.access = checker
	}
	if asksMetrics {
		a.metrics.access = checker
	}
	return nil
}

// certificates returns the certificates of one listener, whose name the log shows.
func (a *App) certificates(name, dir string, c config.Access) httpserve.Certificates {
	conf := &tls.Config{MinVersion: c.MinVersion(), CipherSuites: c.CipherSuites(), NextProtos: []string{"http/1.1"}}
	return httpserve.Certificates{Name: name, Dir: dir, TLS: conf, Log: a.log, Now: a.now}
}
