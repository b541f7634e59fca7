package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// NoNamespace stands for the namespace in the path of a host that has none: a node
// of Ironic that BMO did not name.
const NoNamespace = "-"

// Why returns the story of one host; name may be its node's UUID. Without a namespace name is
// that of a node. A host that the throttle does not know is no error: its Standing says so.
// Errors are as in IsReady.
func (c *Client) Why(ctx context.Context, namespace, name string) (Why, error) {
	if name == "" {
		return Why{}, fieldError("name", "", "must be set")
	}
	var w Why
	if err := c.call(ctx, http.MethodGet, hostPath("/v1/why/", namespace, name), nil, maxBody, &w); err != nil {
		return Why{}, err
	}
	return w, nil
}

// hostPath is the path of a host below base.
func hostPath(base, namespace, name string) string {
	if namespace == "" {
		namespace = NoNamespace
	}
	return base + url.PathEscape(namespace) + "/" + url.PathEscape(name)
}

// Holds returns the failed hosts. Errors are as in IsReady.
func (c *Client) Holds(ctx context.Context) (Holds, error) {
	var h Holds
	if err := c.call(ctx, http.MethodGet, "/v1/holds", nil, maxStatus, &h); err != nil {
		return Holds{}, err
	}
	return h, nil
}

// ReleaseHold lets a held host be tried again; name may be its node's UUID. Without
// a namespace name is that of a node. With an episode only that failure is
// released: the *Error has Code 409 when another has followed. Code 404
// with the Field "name" means that no such host has failed. Errors are else as in
// IsReady.
func (c *Client) ReleaseHold(ctx context.Context, namespace, name, episode string) (ReleaseAnswer, error) {
	r := ReleaseRequest{Episode: episode}
	if name == "" {
		return ReleaseAnswer{}, fieldError("name", "", "must be set")
	}
	if err := r.Validate(); err != nil {
		return ReleaseAnswer{}, err
	}
	var a ReleaseAnswer
	if err := c.change(ctx, hostPath("/v1/holds/", namespace, name)+"/release", r, &a); err != nil {
		return ReleaseAnswer{}, err
	}
	return a, nil
}

// Breakers returns the circuit breakers. Errors are as in IsReady.
func (c *Client) Breakers(ctx context.Context) (Breakers, error) {
	var b Breakers
	if err := c.call(ctx, http.MethodGet, "/v1/breakers", nil, maxStatus, &b); err != nil {
		return Breakers{}, err
	}
	return b, nil
}

// ResetBreaker closes the breaker of a scope, such as "group:rack1". The
// *Error has Code 400 for what cannot be a scope, and Code 404 with the Field
// "scope" for one that has no breaker or no host. Errors are else as in IsReady.
func (c *Client) ResetBreaker(ctx context.Context, scope string) (BreakerAnswer, error) {
	return c.changeBreaker(ctx, scope, "reset", struct{}{})
}

// TripBreaker opens the breaker of a scope for d, 1s..720h, or for its recovery
// time when d is 0. Errors are as in ResetBreaker.
func (c *Client) TripBreaker(ctx context.Context, scope string, d time.Duration) (BreakerAnswer, error) {
	var r TripRequest
	if d != 0 {
		r.For = d.String()
	}
	if _, err := r.Duration(); err != nil {
		return BreakerAnswer{}, err
	}
	return c.changeBreaker(ctx, scope, "trip", r)
}

func (c *Client) changeBreaker(ctx context.Context, scope, how string, request any) (BreakerAnswer, error) {
	if scope == "" {
		return BreakerAnswer{}, fieldError("scope", "", "must be set")
	}
	var a BreakerAnswer
	if err := c.change(ctx, "/v1/breakers/"+url.PathEscape(scope)+"/"+how, request, &a); err != nil {
		return BreakerAnswer{}, err
	}
	return a, nil
}

// change posts request to path and decodes the answer into out.
func (c *Client) change(ctx context.Context, path string, request, out any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return c.call(ctx, http.MethodPost, path, body, maxStatus, out)
}
