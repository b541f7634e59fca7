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
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	// APIVersion is what BMO asks for in every request.
	APIVersion = "1.89"
	// clientTimeout is BMO's IRONIC_CLIENT_TIMEOUT. It is not scaled: it bounds
	// what the wire takes, not what a host does.
	clientTimeout = 30 * time.Second
	maxAnswer     = 64 << 20
)

// Client speaks to Ironic as BMO does. It is safe for concurrent use.
type Client struct {
	base string
	http *http.Client
	list list
}

// NewClient returns a client of the Ironic at base, with or without /v1 at the
// end. With a nil transport it has one of its own: call CloseIdleConnections
// when it is not needed any more.
func NewClient(base string, transport http.RoundTripper) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("ironic %q: want http://host or https://host", base)
	}
	if transport == nil {
		transport = &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second}
	}
	root := strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1")
	return &Client{base: root, http: &http.Client{Transport: transport, Timeout: clientTimeout}}, nil
}

// CloseIdleConnections closes connections that no request uses.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// errUnreachable: no answer came, so nothing is known.
var errUnreachable = errors.New("ironic cannot be reached")

// statusError is an answer that is no success.
type statusError struct {
	method, path string
	status       int
	text         string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s %s: status %d: %s", e.method, e.path, e.status, e.text)
}

// refused tells whether err is an answer with that status.
func refused(err error, status int) bool {
	var e *statusError
	return errors.As(err, &e) && e.status == status
}

// node is what BMO reads of a node.
type node struct {
	UUID        string       `json:"uuid"`
	Name        string       `json:"name"`
	State       ironic.State `json:"provision_state"`
	Boot        string       `json:"boot_interface"`
	Maintenance bool         `json:"maintenance"`
	Internal    struct {
		AgentURL string `json:"agent_url"`
	} `json:"driver_internal_info"`
}

// do sends one request and decodes a success into out, unless that is nil.
func (c *Client) do(ctx context.Context, method, path string, body, out any) error {
	answer, err := c.send(ctx, method, path, body)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// send sends one request and returns the body of a success.
func (c *Client) send(ctx context.Context, method, path string, body any) ([]byte, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", APIVersion)
	req.Header.Set("OpenStack-API-Version", "baremetal "+APIVersion) // gophercloud sends both
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "fake-baremetal-operator")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	defer resp.Body.Close()
	answer, err := readAll(resp)
	if err != nil {
		return nil, fmt.Errorf("%w: %s %s: %w", errUnreachable, method, path, err)
	}
	if resp.StatusCode >= 300 {
		return nil, &statusError{method, path, resp.StatusCode, faultstring(answer)}
	}
	return answer, nil
}

// readAll reads an answer, in one piece where its length is known.
func readAll(resp *http.Response) ([]byte, error) {
	var answer bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= maxAnswer {
		answer.Grow(int(n) + bytes.MinRead)
	}
	_, err := answer.ReadFrom(io.LimitReader(resp.Body, maxAnswer))
	return answer.Bytes(), err
}

// faultstring finds Ironic's words in JSON inside a string inside JSON.
func faultstring(body []byte) string {
	var outer struct {
		Text string `json:"error_message"`
	}
	var inner struct {
		Fault string `json:"faultstring"`
	}
	if json.Unmarshal(body, &outer) == nil && json.Unmarshal([]byte(outer.Text), &inner) == nil && inner.Fault != "" {
		return inner.Fault
	}
	const shown = 200
	return string(body[:min(len(body), shown)])
}

func nodePath(ident string) string { return "/v1/nodes/" + url.PathEscape(ident) }

// node fetches one node; nil is Ironic's 404.
func (c *Client) node(ctx context.Context, ident string) (*node, error) {
	var n node
	err := c.do(ctx, http.MethodGet, nodePath(ident), nil, &n)
	if refused(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &n, nil
}

// look asks for something that may be missing, as BMO does before it acts, and reports whether it is there.
func (c *Client) look(ctx context.Context, path string) (found bool, err error) {
	err = c.do(ctx, http.MethodGet, path, nil, nil)
	if refused(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (c *Client) provision(ctx context.Context, uuid string, target ironic.Target) error {
	return c.do(ctx, http.MethodPut, nodePath(uuid)+"/states/provision", map[string]string{"target": string(target)}, nil)
}

// create makes the node of a host that Ironic does not know yet.
func (c *Client) create(ctx context.Context, name string) (*node, error) {
	var n node
	body := map[string]any{"name": name, "driver": "fake-hardware"}
	if err := c.do(ctx, http.MethodPost, "/v1/nodes", body, &n); err != nil {
		return nil, err
	}
	return &n, nil
}

func (c *Client) endMaintenance(ctx context.Context, uuid string) error {
	return c.do(ctx, http.MethodDelete, nodePath(uuid)+"/maintenance", nil, nil)
}
