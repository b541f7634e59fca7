package app

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/access"
	"github.com/ironic-throttle/ironic-throttle/internal/server"
)

// accessPart keeps what stands in front of the API and of /metrics.
type accessPart struct{ api, metrics door }

// door is what stands in front of a listener; the zero value is an open door.
type door struct {
	cert   *httpserve.InUse // nil: plain HTTP
	access server.Access    // nil: everybody may do everything
}

// newAccess reads certificates and makes the check of who asks, where c wants them. cluster may be nil where it is not needed.
func newAccess(c config.Config, cluster *kube.Cluster, now func() time.Time, log *slog.Logger) (p accessPart, err error) {
	if p.api.cert, err = certificates("API", c.CertDirFor(c.Listen.API), c.Access, now, log).Open(); err != nil {
		return p, err
	}
	if p.metrics.cert, err = certificates("metrics", c.CertDirFor(c.Listen.Metrics), c.Access, now, log).Open(); err != nil {
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
