package api

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// What a Client reads of files, in bytes.
const (
	maxTokenFile = 16 << 10
	maxCAFile    = 4 << 20
)

// WithBearerTokenFile shows the throttle the token in a file, such as that of a service account, with each call. The
// file is read before each call; a call without a usable token sends nothing and returns a *FieldError of the field
// "token file". A token travels by https alone, or to loopback: NewClient refuses other URLs. No redirect is followed
// with it. "" is ignored.
func WithBearerTokenFile(path string) Option {
	return func(c *Client) { c.tokenFile = path }
}

// WithRootCAs believes the certificates in a file, in PEM form, instead of those of the system, in a throttle reached
// by https. It is read once, by NewClient. "" is ignored. It does not go together with WithHTTPClient.
func WithRootCAs(file string) Option {
	return func(c *Client) { c.rootCAs = file }
}

// secure completes c with what its options say about credentials.
func (c *Client) secure(base *url.URL, custom bool) error {
	if c.rootCAs != "" {
		if custom {
			return errors.New("root CAs: must be set in the HTTP client that was given")
		}
		pool, err := readRootCAs(c.rootCAs)
		if err != nil {
			return fmt.Errorf("root CAs: %q %w", c.rootCAs, err)
		}
		c.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	if c.tokenFile == "" {
		return nil
	}
	if base.Scheme != "https" && !isLoopback(base.Hostname()) {
		return fmt.Errorf("base URL: %q must begin with https://: a token must not travel in the clear", base.Redacted())
	}
	straight := *c.http // which may be the caller's
	straight.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &straight
	return nil
}

// isLoopback reports whether a request to host stays on this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func readRootCAs(file string) (*x509.CertPool, error) {
	pem, err := readBounded(file, maxCAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("holds no certificate in PEM form")
	}
	return pool, nil
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a FIFO may block
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	defer f.Close()
	if is, err := f.Stat(); err != nil || !is.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", err)
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("is longer than %d bytes", limit)
	}
	return text, nil
}

// authorize adds the token in the file to req, as it is now; without a file it adds nothing.
func (c *Client) authorize(req *http.Request) error {
	if c.tokenFile == "" {
		return nil
	}
	text, err := readBounded(c.tokenFile, maxTokenFile)
	token := strings.TrimSpace(string(text))
	if err == nil && (token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })) {
		err = errors.New("holds no token: one line of visible ASCII")
	}
	if err != nil {
		return &FieldError{Field: "token file", Value: c.tokenFile, Rule: err.Error()}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return nil
}
