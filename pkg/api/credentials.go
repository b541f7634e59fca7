package api

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// WithBearerTokenFile shows the throttle the token in a file, such as that of a service account, with each call. The
// file is read before each call; a call without a usable token sends nothing and returns a *FieldError of the field
// "token file". A token travels by https alone, or to loopback: NewClient refuses other URLs. No redirect is followed
// with it. "" is ignored.
func WithBearerTokenFile(path string) Option {
	return func(c *Client) { c.tokenFile = path }
}

// WithRootCAs trusts the certificates in a file, in PEM form, instead of those of the system, for a throttle reached
// by https. NewClient reads it, once. "" is ignored.
func WithRootCAs(file string) Option {
	return func(c *Client) { c.rootCAs = file }
}

// secure checks the options about credentials, and returns the TLS settings that they ask for; nil: the usual ones.
func (c *Client) secure(base *url.URL) (*tls.Config, error) {
	if c.tokenFile != "" && base.Scheme != "https" && !isLoopback(base.Hostname()) {
		return nil, fmt.Errorf("base URL: %q must begin with https://: a token must not travel in the clear", base.Redacted())
	}
	if c.rootCAs == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.rootCAs)
	if err != nil {
		return nil, fmt.Errorf("root CAs: %q cannot be read: %w", c.rootCAs, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("root CAs: %q holds no certificate in PEM form", c.rootCAs)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// isLoopback reports whether a request to host stays on this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// authorize adds the token in the file to req, as it is now; without a file it adds nothing.
func (c *Client) authorize(req *http.Request) error {
	if c.tokenFile == "" {
		return nil
	}
	text, err := os.ReadFile(c.tokenFile)
	if err != nil {
		return &FieldError{Field: "token file", Value: c.tokenFile, Rule: "cannot be read: " + err.Error()}
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &FieldError{Field: "token file", Value: c.tokenFile, Rule: "holds no token: one line of visible ASCII"}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return nil
}
