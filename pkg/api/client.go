package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// What a Client allows itself.
const (
	// DefaultTimeout bounds a whole call: connect, ask, answer.
	DefaultTimeout = 2 * time.Second
	// PlanTimeout bounds the calls that make a plan: the throttle reads the cluster for them, for at most a minute.
	PlanTimeout = 75 * time.Second
	// maxBody bounds an answer, in bytes: some name every host.
	maxBody = 64 << 20
	// maxIdle is how many connections stay open: BMO's workers ask in parallel.
	maxIdle = 32
)

// Client asks a throttle. Make one with NewClient and keep it: it reuses its connections. All methods are safe for
// concurrent use. Their errors are a *FieldError (nothing was sent), an *Error (the throttle's own), or wrap
// ErrUnreachable or ErrBadAnswer.
type Client struct {
	base string
	http *http.Client
	set  Options
}

// Options says how a Client asks. The zero value is for a throttle that asks for no token, beside its caller.
type Options struct {
	// Timeout bounds each whole call; 0: DefaultTimeout, and PlanTimeout for those that make a plan.
	Timeout time.Duration
	// TokenFile has the token that the throttle is shown with each call, such as that of a service account; "": none is
	// shown. It is read before each call; a call without a usable token sends nothing and returns a *FieldError of the
	// field "token file". A token travels by https alone, or to loopback: NewClient refuses other URLs.
	TokenFile string
	// RootCAs is a file of certificates in PEM form that are trusted instead of those of the system, for a throttle
	// reached by https. NewClient reads it, once.
	RootCAs string
}

// timeout bounds a call.
func (o Options) timeout(path string) time.Duration {
	switch {
	case o.Timeout > 0: // else a call without a bound would hang the caller's worker
		return o.Timeout
	case strings.HasPrefix(path, "/v1/plan"):
		return PlanTimeout
	}
	return DefaultTimeout
}

// NewClient returns a Client of the throttle at baseURL, such as http://127.0.0.1:8087. It uses no proxy (a throttle is a
// neighbour) and follows no redirect.
func NewClient(baseURL string, o Options) (*Client, error) {
	u, err := url.Parse(strings.TrimSpace(baseURL))
	switch {
	case err != nil:
		return nil, errors.New("base URL: is not a URL") // err would quote it, and so a password
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("base URL: %q must begin with http:// or https:// and name a host", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("base URL: %q must have no user, query or fragment", u.Redacted())
	}
	trusted, err := o.secure(u)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: o.timeout("")}).DialContext,
			TLSClientConfig:     trusted,
			TLSHandshakeTimeout: o.timeout(""),
			MaxIdleConns:        maxIdle,
			MaxIdleConnsPerHost: maxIdle,
			IdleConnTimeout:     90 * time.Second,
			ForceAttemptHTTP2:   true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Client{strings.TrimRight(u.String(), "/"), client, o}, nil
}

// CloseIdleConnections closes connections that no call uses.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// secure checks the options about credentials, and returns the TLS settings that they ask for; nil: the usual ones.
func (o Options) secure(base *url.URL) (*tls.Config, error) {
	if o.TokenFile != "" && base.Scheme != "https" && !isLoopback(base.Hostname()) {
		return nil, fmt.Errorf("base URL: %q must begin with https://: a token must not travel in the clear", base.Redacted())
	}
	if o.RootCAs == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(o.RootCAs)
	if err != nil {
		return nil, fmt.Errorf("root CAs: %q cannot be read: %w", o.RootCAs, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("root CAs: %q holds no certificate in PEM form", o.RootCAs)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// isLoopback reports whether a request to host stays on this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// authorize adds the token in the file to req, as it is now; without a file it adds nothing.
func (o Options) authorize(req *http.Request) error {
	if o.TokenFile == "" {
		return nil
	}
	text, err := os.ReadFile(o.TokenFile)
	if err != nil {
		return &FieldError{Field: "token file", Value: o.TokenFile, Rule: "cannot be read: " + err.Error()}
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &FieldError{Field: "token file", Value: o.TokenFile, Rule: "holds no token: one line of visible ASCII"}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// get reads path.
func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	return call[T](ctx, c, http.MethodGet, path, nil)
}

// call sends one request and decodes a 200. With an error the answer is the zero value.
func call[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var answer, none T
	text, err := c.send(ctx, method, path, body)
	if err != nil {
		return none, err
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return none, fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	return answer, nil
}

// send returns the body of a 200.
func (c *Client) send(ctx context.Context, method, path string, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.set.timeout(path))
	defer cancel()
	var sent []byte
	if body != nil {
		sent, _ = json.Marshal(body) //nolint:errchkjson // our own types always have a JSON form
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(sent))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "ironic-throttle-client")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := c.set.authorize(req); err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: reading the answer: %w", ErrUnreachable, err)
	case resp.StatusCode != http.StatusOK:
		return nil, errorOf(resp.StatusCode, text)
	case len(text) > maxBody:
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrBadAnswer, maxBody)
	}
	return text, nil
}

// errorOf is the error in a body, or one made from the code when the body is not ours.
func errorOf(code int, body []byte) error {
	var b ErrorBody
	if err := json.Unmarshal(body, &b); err != nil || b.Error.Message == "" {
		b.Error = Error{Message: http.StatusText(code)}
	}
	b.Error.Code = code
	return &b.Error
}
