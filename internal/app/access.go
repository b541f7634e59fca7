package app

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/netip"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/access"
	"github.com/ironic-throttle/ironic-throttle/internal/server"
)

// accessPart keeps what stands in front of the API; the zero value is an open door.
type accessPart struct {
	apiTLS  *tls.Config      // nil: plain HTTP
	apiCert *httpserve.InUse // likewise
	access  server.Access    // nil: everybody may do everything
}

// newAccess reads the API's certificate and makes the check of who asks, where c wants
// them. cluster may be nil where it is not needed.
func newAccess(c config.Config, cluster *kube.Cluster, now func() time.Time, log *slog.Logger) (p accessPart, err error) {
	certificates := httpserve.Certificates{
		Name: "API", Log: log, Now: now,
		Cert: httpserve.File{Setting: "IRONIC_THROTTLE_API_TLS_CERT_FILE", Path: c.Access.CertFile},
		Key:  httpserve.File{Setting: "IRONIC_THROTTLE_API_TLS_KEY_FILE", Path: c.Access.KeyFile},
	}
	if p.apiCert, err = certificates.Open(); err != nil {
		return p, err
	}
	if p.apiTLS = p.apiCert.Config(); !c.Guarded() {
		return p, nil
	}
	o := access.Options{Now: now, Log: log}
	if cluster != nil {
		o.Config = cluster.Config
	}
	checker, err := access.New(o)
	if err != nil {
		return accessPart{}, err
	}
	p.access = checked{checker}
	return p, nil
}

// apiScheme is how the API is spoken to.
func (p *accessPart) apiScheme() string {
	if p.apiTLS != nil {
		return "https"
	}
	return "http"
}

// checked tells the server what a Checker says.
type checked struct{ *access.Checker }

// Check implements server.Access.
func (c checked) Check(ctx context.Context, from netip.Addr, token, path, verb string) (server.Verdict, error) {
	d, err := c.Checker.Check(ctx, from, token, path, verb)
	return server.Verdict(d), err
}
