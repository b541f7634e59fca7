package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// What a Client allows itself.
const (
	// DefaultTimeout bounds a whole call: connect, ask, answer.
	DefaultTimeout = 2 * time.Second
	// PlanTimeout bounds the calls that make a plan: the throttle reads the cluster for them, for at most a minute.
	PlanTimeout = 75 * time.Second
	// maxBody bounds an answer and maxStatus what names hosts, such as all that hold a slot; bytes.
	maxBody   = 1 << 20
	maxStatus = 64 << 20
	// maxState bounds the state that a plan is made of, which has every pod.
	maxState = 256 << 20
	// maxIdle is how many connections stay open: BMO's workers ask in parallel.
	maxIdle = 32
)

// Client asks a throttle. Make one with NewClient and keep it: it reuses its connections. All methods are safe for
// concurrent use.
type Client struct {
	base    string
	http    *http.Client
	timeout time.Duration
	planned time.Duration // timeout of calls that make a plan

	rootCAs, tokenFile string // "" = those of the system; no token is shown
}

// Option changes a Client while it is made.
type Option func(*Client)

// WithTimeout bounds each whole call by d instead of DefaultTimeout and PlanTimeout. d <= 0 is ignored: a call
// without a bound would hang the caller's worker.
func WithTimeout(d time.Duration) Option {
	return func(c *Client) {
		if d > 0 {
			c.timeout, c.planned = d, d
		}
	}
}

// NewClient returns a Client of the throttle at baseURL, such as http://127.0.0.1:8087. It uses no proxy (a throttle is a
// neighbour) and follows no redirect.
func NewClient(baseURL string, opts ...Option) (*Client, error) {
	u, err := url.Parse(strings.TrimSpace(baseURL))
	switch {
	case err != nil:
		return nil, errors.New("base URL: is not a URL") // err would quote it, and so a password
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("base URL: %q must begin with http:// or https:// and name a host", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("base URL: %q must have no user, query or fragment", u.Redacted())
	}
	c := &Client{base: strings.TrimRight(u.String(), "/"), timeout: DefaultTimeout, planned: PlanTimeout}
	for _, o := range opts {
		o(c)
	}
	trusted, err := c.secure(u)
	if err != nil {
		return nil, err
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: c.timeout}).DialContext,
			TLSClientConfig:     trusted,
			TLSHandshakeTimeout: c.timeout,
			MaxIdleConns:        maxIdle,
			MaxIdleConnsPerHost: maxIdle,
			IdleConnTimeout:     90 * time.Second,
			ForceAttemptHTTP2:   true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// CloseIdleConnections closes connections that no call uses.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// exchange is a request, and what bounds it.
type exchange struct {
	method, path string
	body         any // nil: none
	timeout      time.Duration
	limit        int64 // bytes of the answer
}

// get reads path.
func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	return call[T](ctx, c, exchange{http.MethodGet, path, nil, c.timeout, maxStatus})
}

// post sends body to path.
func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	return call[T](ctx, c, exchange{http.MethodPost, path, body, c.timeout, maxStatus})
}

// call sends one request and decodes a 200. With an error the answer is the zero value.
func call[T any](ctx context.Context, c *Client, x exchange) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	text, err := c.send(ctx, x)
	if err != nil {
		return answer, err
	}
	var decoded T
	if err := json.Unmarshal(text, &decoded); err != nil {
		return answer, fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	return decoded, nil
}

// send returns the body of a 200.
func (c *Client) send(ctx context.Context, x exchange) ([]byte, error) {
	var body []byte
	if x.body != nil {
		var err error
		if body, err = json.Marshal(x.body); err != nil {
			return nil, fmt.Errorf("%s %s: %w", x.method, x.path, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, x.method, c.base+x.path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", x.method, x.path, err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "ironic-throttle-client")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := c.authorize(req); err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, x.limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: reading the answer: %w", ErrUnreachable, err)
	case resp.StatusCode != http.StatusOK:
		return nil, errorOf(resp.StatusCode, text)
	case int64(len(text)) > x.limit:
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrBadAnswer, x.limit)
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
