package ironic

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"

	"github.com/ironic-throttle/ironic-throttle/internal/plainfile"
)

// NewTransport returns the network as the Settings want it, or the Transport that they bring: an *http.Transport unless
// that is another one. An error names the variable or the file. Several of them share nothing.
func NewTransport(s Settings) (http.RoundTripper, error) {
	if s.Transport != nil {
		return s.Transport, nil
	}
	conf, err := tlsConfig(s)
	if err != nil {
		return nil, err
	}
	d := dialer{settings: s, conf: conf, plain: net.Dialer{Timeout: dialTimeout}}
	t := &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: d.plain.DialContext,
		DialTLSContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return d.dialTLS(ctx, Access{Address: address})
		},
		TLSClientConfig:        conf,
		TLSHandshakeTimeout:    handshakeTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    4,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	if s.Locate != nil {
		t.Proxy = nil // there is none on the way to a Service
		t.DialContext, t.DialTLSContext = d.dialLocated(false), d.dialLocated(true)
	}
	return t, nil
}

// dialer makes the connections to Ironic.
type dialer struct {
	settings Settings
	conf     *tls.Config
	plain    net.Dialer
}

// dialTLS trusts to.CA; where that is nil it reads the CA file, which may have been renewed. Connections are kept.
func (d dialer) dialTLS(ctx context.Context, to Access) (_ net.Conn, err error) {
	conf := d.conf.Clone()
	conf.InsecureSkipVerify = conf.InsecureSkipVerify || to.Insecure
	if conf.RootCAs = to.CA; to.CA == nil {
		if conf.RootCAs, err = authorities(d.settings); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout+handshakeTimeout)
	defer cancel()
	return (&tls.Dialer{NetDialer: &d.plain, Config: conf}).DialContext(ctx, "tcp", to.Address)
}

// tlsConfig reads the certificates once, so that a broken one is an error at the start; both are read again later.
func tlsConfig(s Settings) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: max(tls.VersionTLS12, s.MinTLS), InsecureSkipVerify: s.Insecure} //nolint:gosec // IRONIC_INSECURE asks for it
	var err error
	if conf.RootCAs, err = authorities(s); err != nil {
		return nil, err
	}
	if conf.RootCAs == nil && s.CACertFile != "" && s.CACertFile != DefaultCACertFile {
		s.Log.Warn("the CA file is missing: the system's authorities are trusted, as in BMO",
			"variable", "IRONIC_CACERT_FILE", "file", s.CACertFile)
	}
	return conf, clientCertificate(conf, s)
}

// authorities reads whom we trust to sign Ironic's certificate; nil means the system's, because there is no CA file.
func authorities(s Settings) (*x509.CertPool, error) {
	if s.CACertFile == "" {
		return nil, nil
	}
	pem, err := plainfile.Read(s.CACertFile, plainfile.PEM)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("IRONIC_CACERT_FILE: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("IRONIC_CACERT_FILE: %s holds no certificate in PEM form", s.CACertFile)
	}
	return pool, nil
}

// clientCertificate puts our certificate into conf, when there is one.
func clientCertificate(conf *tls.Config, s Settings) error {
	_, certErr := os.Stat(s.ClientCertFile)
	_, keyErr := os.Stat(s.ClientPrivateKeyFile)
	if errors.Is(certErr, fs.ErrNotExist) && errors.Is(keyErr, fs.ErrNotExist) {
		return nil
	}
	if err := cmp.Or(certErr, keyErr); err != nil {
		return fmt.Errorf("IRONIC_CLIENT_CERT_FILE %q and IRONIC_CLIENT_PRIVATE_KEY_FILE %q: both or none are needed: %w",
			s.ClientCertFile, s.ClientPrivateKeyFile, err)
	}
	load := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := plainfile.KeyPair(s.ClientCertFile, s.ClientPrivateKeyFile)
		if err != nil {
			return nil, fmt.Errorf("IRONIC_CLIENT_CERT_FILE %s, IRONIC_CLIENT_PRIVATE_KEY_FILE %s: %w", s.ClientCertFile, s.ClientPrivateKeyFile, err)
		}
		return &pair, nil
	}
	conf.GetClientCertificate = load // at each handshake, so that it can be renewed
	_, err := load(nil)
	return err
}
