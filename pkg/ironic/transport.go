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

// NewTransport returns s.Transport if it is set, else a new *http.Transport with the TLS settings of s. An error names
// the variable or the file.
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
		t.Proxy = nil // Locate returns the address of a Service, which no proxy knows
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

// dialTLS connects to to.Address. It trusts to.CA or, if that is nil, the CA file, which it reads each time.
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

// tlsConfig reads the certificates, so that a broken one is an error at the start; each connection reads them again.
func tlsConfig(s Settings) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: max(tls.VersionTLS12, s.MinTLS)}
	conf.InsecureSkipVerify = s.Insecure
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

// authorities reads the CA file; nil: it does not exist, and the system's authorities count.
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

// clientCertificate puts the client's certificate into conf, if there is one.
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
			return nil, fmt.Errorf("IRONIC_CLIENT_CERT_FILE %s, IRONIC_CLIENT_PRIVATE_KEY_FILE %s: %w",
				s.ClientCertFile, s.ClientPrivateKeyFile, err)
		}
		return &pair, nil
	}
	conf.GetClientCertificate = load // at each handshake, as somebody may renew the files
	_, err := load(nil)
	return err
}
