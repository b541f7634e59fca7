package ironic

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
)

// Access says where Ironic is now, and how to connect to it.
type Access struct {
	Address string // host:port
	TLS     bool
	// User and Password are the credentials, both or none. None: those in Settings.AuthRootDir count.
	User, Password string
	// CA has the certificates to trust; nil: those of Settings.CACertFile.
	CA       *x509.CertPool
	Insecure bool // trust any server certificate
}

// dialLocated asks Settings.Locate before each connection where it leads and what to trust. Host and scheme of the URL
// do not count, so that Ironic may move while requests are made. If Locate fails, so does the connection. It is tied to
// the answer of Locate: new credentials must not go to an old address.
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

// tiedConn sends no more once Ironic has another address, or other certificates are trusted, than when it was dialled.
// For a request of which nothing was sent, a Transport then makes another connection, if it can send the body again.
type tiedConn struct {
	net.Conn

	peer   Access
	locate func(ctx context.Context) (Access, error)
}

func (c *tiedConn) Write(p []byte) (int, error) {
	now, err := c.locate(context.Background())
	was := c.peer
	if err == nil && (now.Address != was.Address || now.TLS != was.TLS || now.Insecure != was.Insecure || !now.CA.Equal(was.CA)) {
		err = errors.New("ironic has another address, or other certificates are trusted, since this connection was made")
	}
	if err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
