package bmo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	// apiVersion is what BMO asks for in every request.
	apiVersion = "1.89"
	// clientTimeout is BMO's IRONIC_CLIENT_TIMEOUT. Speed does not scale it: it bounds a request, not the work of a host.
	clientTimeout = 30 * time.Second
)

// Client speaks to Ironic as BMO does. It is safe for concurrent use.
type Client struct {
	base string
	http *http.Client
}

// NewClient returns a client of the Ironic at base, which has no slash at its end. A nil transport means a new one.
func NewClient(base string, transport http.RoundTripper) *Client {
	if transport == nil {
		transport = &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second}
	}
	return &Client{base, &http.Client{Transport: transport, Timeout: clientTimeout}}
}

// errUnreachable says that no answer came, so nothing is known about the request.
var errUnreachable = errors.New("ironic cannot be reached")

// statusError is an answer with a status of 300 or more.
type statusError struct {
	method, path string
	status       int
	text         []byte
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s %s: status %d: %.200s", e.method, e.path, e.status, e.text)
}

// refused reports whether err is an answer with that status.
func refused(err error, status int) bool {
	var e *statusError
	return errors.As(err, &e) && e.status == status
}

// node is what BMO reads of a node.
type node struct {
	UUID        string       `json:"uuid"`
	State       ironic.State `json:"provision_state"`
	Maintenance bool         `json:"maintenance"`
}

// do sends one request. Unless out is nil, it decodes a successful answer into out.
func (c *Client) do(ctx context.Context, method, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body == nil {
		text = nil
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", apiVersion)
	req.Header.Set("OpenStack-API-Version", "baremetal "+apiVersion) // gophercloud sends both
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "fake-baremetal-operator")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreachable, err)
	}
	defer resp.Body.Close()
	switch answer, err := io.ReadAll(resp.Body); {
	case err != nil:
		return fmt.Errorf("%w: %s %s: %w", errUnreachable, method, path, err)
	case resp.StatusCode >= 300:
		return &statusError{method, path, resp.StatusCode, answer}
	case out != nil:
		return json.Unmarshal(answer, out)
	}
	return nil
}

func nodePath(ident string) string { return "/v1/nodes/" + url.PathEscape(ident) }

// look gets something that may not exist, and reports whether it does.
func (c *Client) look(ctx context.Context, path string, out any) (found bool, err error) {
	err = c.do(ctx, http.MethodGet, path, nil, out)
	if refused(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}

// ready asks for Ironic's root and its drivers. Any error, a proxy's 502 too, means "provisioner is not ready", which
// is no error of a host.
func (c *Client) ready(ctx context.Context) error {
	for _, path := range []string{"/v1/", "/v1/drivers"} {
		if err := c.do(ctx, http.MethodGet, path, nil, nil); err != nil {
			return fmt.Errorf("%w: %w", errUnreachable, err)
		}
	}
	return nil
}
