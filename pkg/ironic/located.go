package ironic

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"strings"
)

// Access is where Ironic is and how it is spoken to, as somebody says who knows it at each moment.
type Access struct {
	Address string // host:port
	TLS     bool
	// User and Password are our credentials; both or none. None: those in Settings.AuthRootDir.
	User, Password string
	// CA are the certificates that are trusted; nil: those of Settings.CACertFile.
	CA *x509.CertPool
	// Insecure takes any certificate, as Settings.Insecure does.
	Insecure bool
}

// host is that of a URL which leads there.
func (a Access) host() string {
	usual := ":80"
	if a.TLS {
		usual = ":443"
	}
	return strings.TrimSuffix(a.Address, usual)
}

// URL leads there; it has no credentials.
func (a Access) URL() string {
	if a.TLS {
		return "https://" + a.host()
	}
	return "http://" + a.host()
}

// Equal reports whether a and b say the same.
func (a Access) Equal(b Access) bool {
	return a.sameServer(b) && a.User == b.User && a.Password == b.Password
}

// sameServer reports whether a connection that was made for a may be used for b.
func (a Access) sameServer(b Access) bool {
	return a.Address == b.Address && a.TLS == b.TLS && a.Insecure == b.Insecure && a.CA.Equal(b.CA)
}

// dialLocated asks Settings.Locate before each connection where it leads and whom to trust. Host and scheme of a URL
// say nothing then, so that they may change while requests are made. Without an answer nothing is sent, as if nobody
// were there. Connections are tied to that answer: each request asks for its own credentials, and new ones are not for
// whom an old connection leads to.
func (d dialer) dialLocated(secure bool) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (conn net.Conn, err error) {
		access, err := d.settings.Locate(ctx)
		if err != nil {
			return nil, err
		}
		if secure || access.TLS {
			conn, err = d.dialTLS(ctx, access)
		} else {
			conn, err = d.plain.DialContext(ctx, network, access.Address)
		}
		if err != nil {
			return nil, err
		}
		return &tiedConn{Conn: conn, peer: access, locate: d.settings.Locate}, nil
	}
}

var errElsewhere = errors.New("ironic is elsewhere, or trusted otherwise, than when this connection was made")

// tiedConn takes nothing to send once Ironic is elsewhere, or another authority is trusted, than when it was dialled. A
// Transport then makes another connection for a request of which nothing was sent, if it can send its body again.
type tiedConn struct {
	net.Conn

	peer   Access
	locate func(ctx context.Context) (Access, error)
}

func (c *tiedConn) Write(p []byte) (int, error) {
	now, err := c.locate(context.Background())
	if err == nil && !now.sameServer(c.peer) {
		err = errElsewhere
	}
	if err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
