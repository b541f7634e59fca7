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

const (
	// DefaultTimeout bounds a whole call, from the connection to the end of the answer.
	DefaultTimeout = 2 * time.Second
	// PlanTimeout bounds Plan and PlanExplanation: the throttle reads the cluster first, for at most a minute.
	PlanTimeout = 75 * time.Second

	maxBody = 64 << 20 // bytes of an answer: some answers name every host
	maxIdle = 32       // open connections without a call: BMO's workers ask in parallel
)

// Client calls one throttle. Make one with NewClient and keep it, for it reuses connections. All methods are safe for
// concurrent use. Each returns one of these errors: a *FieldError, if the client did not send the request; an *Error,
// if the answer has another status than 200; or one that wraps ErrUnreachable or ErrBadAnswer.
type Client struct {
	base string
	http *http.Client
	set  Options
}

// Options set up a Client. The zero value is for a throttle on the same machine, which needs no token.
type Options struct {
	// Timeout bounds each whole call. 0 or less means DefaultTimeout, and PlanTimeout for Plan and PlanExplanation.
	Timeout time.Duration
	// TokenFile names a file with a bearer token, such as that of a service account; "": the client sends none. The
	// client reads the file before each call. If that fails, the call returns a *FieldError with the Field "token file".
	// NewClient refuses a TokenFile unless the URL is https or leads to loopback: no other machine may read the token.
	TokenFile string
	// RootCAs names a file of PEM certificates, which the client trusts instead of those of the system. NewClient reads
	// it once.
	RootCAs string
}

// timeout returns how long a call of path may take.
func (o Options) timeout(path string) time.Duration {
	switch {
	case o.Timeout > 0: // else the default: a call without a bound could hang its caller
		return o.Timeout
	case strings.HasPrefix(path, "/v1/plan"):
		return PlanTimeout
	}
	return DefaultTimeout
}

// NewClient returns a Client of the throttle at baseURL, such as http://127.0.0.1:8087. It connects to nothing yet. The
// error says what is wrong with baseURL or Options. The Client uses no proxy and follows no redirect.
func NewClient(baseURL string, o Options) (*Client, error) {
	u, err := url.Parse(strings.TrimSpace(baseURL))
	switch {
	case err != nil:
		return nil, errors.New("base URL: is not a URL") // err quotes the URL, which may hold a password
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

// CloseIdleConnections closes the connections that no call uses. The Client stays usable.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// secure returns the TLS settings of the options, nil for the usual ones. It refuses to send a token unencrypted.
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

// authorize adds the token to req. It reads the file each time, as Kubernetes replaces tokens of service accounts.
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

// get is call for a GET.
func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	return call[T](ctx, c, http.MethodGet, path, nil)
}

// call sends one request and decodes the answer, which is the zero value with any error.
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

// send sends one request and returns the body of its answer.
func (c *Client) send(ctx context.Context, method, path string, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.set.timeout(path))
	defer cancel()
	var sent []byte
	if body != nil {
		sent, _ = json.Marshal(body) //nolint:errchkjson // all our types have a JSON form
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

// errorOf returns the error in a body, or makes one of the code if the body is not from the throttle.
func errorOf(code int, body []byte) error {
	var b ErrorBody
	if err := json.Unmarshal(body, &b); err != nil || b.Error.Message == "" {
		b.Error = Error{Message: http.StatusText(code)}
	}
	b.Error.Code = code
	return &b.Error
}
