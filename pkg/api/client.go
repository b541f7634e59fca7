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
	"strconv"
	"strings"
	"time"
)

// What a Client allows itself.
const (
	// DefaultTimeout bounds a whole call: connect, ask, answer.
	DefaultTimeout = 2 * time.Second
	// PlanTimeout bounds the calls that make a plan: the throttle reads the cluster for
	// them, for at most a minute.
	PlanTimeout = 75 * time.Second
	// maxBody bounds an answer and maxStatus what names hosts, such as all that
	// hold a slot; bytes.
	maxBody   = 1 << 20
	maxStatus = 64 << 20
	// maxState bounds the state that a plan is made of, which has every pod.
	maxState = 256 << 20
	// maxIdle is how many connections stay open: BMO's workers ask in parallel.
	maxIdle = 32
)

// Client asks a throttle. Make one with NewClient and keep it: it reuses its
// connections. All methods are safe for concurrent use.
type Client struct {
	base    string
	http    *http.Client
	timeout time.Duration
	planned time.Duration // timeout of calls that make a plan
	rootCAs string        // file; "" = the system's
	token   *tokenFile    // nil: none
}

// Option changes a Client while it is made.
type Option func(*Client)

// WithTimeout bounds each whole call by d instead of DefaultTimeout and PlanTimeout. d <= 0 is
// ignored: a call without a bound would hang the caller's worker.
func WithTimeout(d time.Duration) Option {
	return func(c *Client) {
		if d > 0 {
			c.timeout, c.planned = d, d
		}
	}
}

// WithHTTPClient sends through h, for a transport of one's own.
// The time-out of the Client still bounds each call.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) {
		if h != nil {
			c.http = h
		}
	}
}

// NewClient returns a Client of the throttle at baseURL, such as
// http://127.0.0.1:8087. Unless WithHTTPClient says otherwise it uses no proxy
// (a throttle is a neighbour) and follows no redirect.
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
	custom := c.http != nil
	if !custom {
		c.http = &http.Client{
			Transport: &http.Transport{
				DialContext:         (&net.Dialer{Timeout: c.timeout}).DialContext,
				TLSHandshakeTimeout: c.timeout,
				MaxIdleConns:        maxIdle,
				MaxIdleConnsPerHost: maxIdle,
				IdleConnTimeout:     90 * time.Second,
				ForceAttemptHTTP2:   true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if err := c.secure(u, custom); err != nil {
		return nil, err
	}
	return c, nil
}

// IsReady asks whether a host may start. A no is an Answer, not an error; its
// RetryAfterSeconds says when to ask again. With an error nobody knows what was decided
// and the Answer's Ready is always false: who goes on in spite of it gives the
// limit up. Errors are a *FieldError (nothing was sent), an *Error (the
// throttle's own), or wrap ErrUnreachable or ErrBadAnswer.
//
// A yes takes a slot for this host until its work has ended, so ask only for
// what is going to be done now, and ask again before each further phase: a host
// that holds a slot is told yes at once.
func (c *Client) IsReady(ctx context.Context, ask Ask) (Answer, error) {
	ask = ask.Normalize()
	if err := ask.Validate(); err != nil {
		return Answer{}, err
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return Answer{}, fmt.Errorf("ask: %w", err)
	}
	return c.answer(ctx, http.MethodPost, body)
}

// Vacancy asks whether any slot is free, for no host in particular. It takes
// nothing, so a yes is a guess that many may be given at once; IsReady is the
// question to ask before work starts.
func (c *Client) Vacancy(ctx context.Context) (Answer, error) {
	return c.answer(ctx, http.MethodGet, nil)
}

// answer calls isready and lets nothing through that the throttle cannot have
// said. A reason that is new to us is a no.
func (c *Client) answer(ctx context.Context, method string, body []byte) (Answer, error) {
	var a Answer
	if err := c.call(ctx, method, "/v1/isready", body, maxBody, &a); err != nil {
		return Answer{}, err
	}
	if a.Reason == "" || a.Ready != a.Reason.Yes() {
		return Answer{}, fmt.Errorf("%w: ready %t with reason %q", ErrBadAnswer, a.Ready, a.Reason)
	}
	return a, nil
}

// Status returns everything that the throttle shows. Errors are as in IsReady.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	if err := c.call(ctx, http.MethodGet, "/v1/status", nil, maxStatus, &s); err != nil {
		return Status{}, err
	}
	return s, nil
}

// Slots returns who holds a slot. Errors are as in IsReady.
func (c *Client) Slots(ctx context.Context) (SlotsView, error) {
	var s SlotsView
	if err := c.call(ctx, http.MethodGet, "/v1/slots", nil, maxStatus, &s); err != nil {
		return SlotsView{}, err
	}
	return s, nil
}

// Queue returns who waits, in the order of the queue: at most limit hosts of each
// pool, 0..1000. Errors are as in IsReady.
func (c *Client) Queue(ctx context.Context, limit int) (Queue, error) {
	return c.QueueOf(ctx, QueueQuery{Limit: limit})
}

// QueueOf returns the hosts of the queues that query wants. Errors are as in IsReady.
func (c *Client) QueueOf(ctx context.Context, query QueueQuery) (Queue, error) {
	values := url.Values{"limit": {strconv.Itoa(query.Limit)}}
	if query.Namespace != "" {
		values.Set("namespace", query.Namespace)
	}
	if query.Reason != "" {
		values.Set("reason", string(query.Reason))
	}
	if query.OnePool {
		values.Set("pool", query.Pool)
	}
	var q Queue
	if err := c.call(ctx, http.MethodGet, "/v1/queue?"+values.Encode(), nil, maxStatus, &q); err != nil {
		return Queue{}, err
	}
	return q, nil
}

// CloseIdleConnections closes connections that no call uses.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// call sends one request and decodes a 200 of at most limit bytes into out.
func (c *Client) call(ctx context.Context, method, path string, body []byte, limit int64, out any) error {
	return c.callWithin(ctx, c.timeout, method, path, body, limit, out)
}

func (c *Client) callWithin(ctx context.Context, timeout time.Duration, method, path string, body []byte, limit int64, out any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "ironic-throttle-client")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := c.token.authorize(req); err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return fmt.Errorf("%w: reading the answer: %w", ErrUnreachable, err)
	case resp.StatusCode != http.StatusOK:
		return errorOf(resp.StatusCode, text)
	case int64(len(text)) > limit:
		return fmt.Errorf("%w: longer than %d bytes", ErrBadAnswer, limit)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	return nil
}

// errorOf is the error in a body, or one made from the code when the body is
// not ours.
func errorOf(code int, body []byte) error {
	var b ErrorBody
	if err := json.Unmarshal(body, &b); err != nil || b.Error.Message == "" {
		b.Error = Error{Message: http.StatusText(code)}
	}
	b.Error.Code = code
	return &b.Error
}
