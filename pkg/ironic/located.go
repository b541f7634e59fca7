package ironic

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
)

// Access is where Ironic is and how it is spoken to, as somebody says who knows it at each
// moment.
type Access struct {
	Address string // host:port
	TLS     bool
	// User and Password are our credentials; both or none.
	User, Password string
	// CA are the certificates that are trusted; nil: those of Settings.CACertFile.
	CA *x509.CertPool
}

// locatedTransport asks Settings.Locate before each connection where it leads and whom to
// trust. Host and scheme of a URL say nothing then, so that they may change while requests are
// made. Without an answer nothing is sent, as if nobody were there. There is no proxy on the
// way to a Service.
func locatedTransport(t *http.Transport, s Settings, dialer *net.Dialer, conf *tls.Config) {
	dial := func(ctx context.Context, network string, secure bool) (net.Conn, error) {
		access, err := s.Locate(ctx)
		switch {
		case err != nil:
			return nil, err
		case access.TLS || secure:
			return dialTLS(ctx, s, dialer, conf, access.CA, network, access.Address)
		}
		return dialer.DialContext(ctx, network, access.Address)
	}
	t.Proxy = nil
	t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) { return dial(ctx, network, false) }
	t.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) { return dial(ctx, network, true) }
}
