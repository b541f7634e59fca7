package ironic

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
)

// Access is where Ironic is and how it is spoken to, as somebody says who knows it at each moment.
type Access struct {
	Address string // host:port
	TLS     bool
	// User and Password are our credentials; both or none. None: those in Settings.AuthRootDir.
	User, Password string
	// CA are the certificates that are trusted; nil: those of Settings.CACertFile.
	CA       *x509.CertPool
	Insecure bool // any certificate is taken
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

// tiedConn takes nothing to send once Ironic is elsewhere, or another authority is trusted, than when it was dialled. A
// Transport then makes another connection for a request of which nothing was sent, if it can send its body again.
type tiedConn struct {
	net.Conn

	peer   Access
	locate func(ctx context.Context) (Access, error)
}

func (c *tiedConn) Write(p []byte) (int, error) {
	now, err := c.locate(context.Background())
	was := c.peer
	if err == nil && (now.Address != was.Address || now.TLS != was.TLS || now.Insecure != was.Insecure || !now.CA.Equal(was.CA)) {
		err = errors.New("ironic is elsewhere, or trusted otherwise, than when this connection was made")
	}
	if err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
