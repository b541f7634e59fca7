package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// NoNamespace stands for the namespace in the path of a host that has none: a node of Ironic that BMO did not name.
const NoNamespace = "-"

// IsReady asks whether a host may start. A no is an Answer, not an error; its RetryAfterSeconds says when to ask again.
// With an error it is not known what was decided, and the Answer's Ready is false: a caller that goes on in spite of it
// gives the limit up.
//
// A yes takes a slot for this host until its work has ended, so ask only for what is going to be done now, and ask again
// before each further phase: a host that holds a slot is told yes at once.
func (c *Client) IsReady(ctx context.Context, ask Ask) (Answer, error) {
	return c.answer(ctx, http.MethodPost, ask.Normalize())
}

// Vacancy asks whether any slot is free, for no host in particular. It takes nothing, so a yes is a guess that many may
// be given at once; IsReady is the question to ask before work starts.
func (c *Client) Vacancy(ctx context.Context) (Answer, error) {
	return c.answer(ctx, http.MethodGet, nil)
}

// answer calls isready and lets nothing through that the throttle cannot have said. A reason that is new to us is a no.
func (c *Client) answer(ctx context.Context, method string, body any) (Answer, error) {
	a, err := call[Answer](ctx, c, method, "/v1/isready", body)
	if err == nil && (a.Reason == "" || a.Ready != a.Reason.Yes()) {
		return Answer{}, fmt.Errorf("%w: ready %t with reason %q", ErrBadAnswer, a.Ready, a.Reason)
	}
	return a, err
}

// Status returns everything that the throttle shows.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/v1/status")
}

// Queue returns the hosts that wait, as far as query wants them, in the order of the queue.
func (c *Client) Queue(ctx context.Context, query QueueQuery) (Queue, error) {
	values := url.Values{"limit": {strconv.Itoa(query.Limit)}}
	if query.Namespace != "" {
		values.Set("namespace", query.Namespace)
	}
	if query.Reason != "" {
		values.Set("reason", string(query.Reason))
	}
	if query.Pool != nil {
		values.Set("pool", *query.Pool)
	}
	return get[Queue](ctx, c, "/v1/queue?"+values.Encode())
}

// Why returns the story of one host; name may be its node's UUID. Without a namespace name is that of a node. A host that
// the throttle does not know is no error: its Standing says so.
func (c *Client) Why(ctx context.Context, namespace, name string) (Why, error) {
	return get[Why](ctx, c, "/v1/why/"+hostPath(namespace, name))
}

// hostPath is a host in a path.
func hostPath(namespace, name string) string {
	return url.PathEscape(cmp.Or(namespace, NoNamespace)) + "/" + url.PathEscape(name)
}

// Holds returns the failed hosts.
func (c *Client) Holds(ctx context.Context) (Holds, error) { return get[Holds](ctx, c, "/v1/holds") }

// ReleaseHold lets a held host be tried again; name may be its node's UUID. Without a namespace name is that of a node.
// With an episode only that failure is released: the *Error has Code 409 when another has followed. Code 404 with the
// Field "name" means that no such host has failed.
func (c *Client) ReleaseHold(ctx context.Context, namespace, name, episode string) (ReleaseAnswer, error) {
	path := "/v1/holds/" + hostPath(namespace, name) + "/release"
	return call[ReleaseAnswer](ctx, c, http.MethodPost, path, ReleaseRequest{Episode: episode})
}

// Breakers returns the circuit breakers.
func (c *Client) Breakers(ctx context.Context) (Breakers, error) {
	return get[Breakers](ctx, c, "/v1/breakers")
}

// ResetBreaker closes the breaker of a scope, such as "group:rack1". The *Error has Code 400 for what cannot be a scope,
// and Code 404 with the Field "scope" for one that has no breaker.
func (c *Client) ResetBreaker(ctx context.Context, scope string) (BreakerAnswer, error) {
	return c.changeBreaker(ctx, scope, "reset", struct{}{})
}

// TripBreaker opens the breaker of a scope for d, 1s..720h, or for its recovery time when d is 0. Errors are as in
// ResetBreaker.
func (c *Client) TripBreaker(ctx context.Context, scope string, d time.Duration) (BreakerAnswer, error) {
	var r TripRequest
	if d != 0 {
		r.For = d.String()
	}
	return c.changeBreaker(ctx, scope, "trip", r)
}

func (c *Client) changeBreaker(ctx context.Context, scope, how string, request any) (BreakerAnswer, error) {
	if scope == "" {
		return BreakerAnswer{}, &FieldError{Field: "scope", Rule: "must be set"}
	}
	return call[BreakerAnswer](ctx, c, http.MethodPost, "/v1/breakers/"+url.PathEscape(scope)+"/"+how, request)
}

// Plan returns what could be released or provisioned again (docs/planned-work.md). Nothing changes by it. The *Error has
// Code 404 and the Field PlannerOff where nothing is planned, and Code 502 or 503 where the cluster cannot be read, or
// not in time.
func (c *Client) Plan(ctx context.Context) (Plan, error) { return get[Plan](ctx, c, "/v1/plan") }

// PlanExplanation tells why a host is a candidate of planned work or not. The *Error has Code 404 and the Field
// PlanHostUnknown for an unknown host. Other errors are as in Plan.
func (c *Client) PlanExplanation(ctx context.Context, namespace, name string) (PlanExplanation, error) {
	return get[PlanExplanation](ctx, c, "/v1/plan/hosts/"+hostPath(namespace, name))
}
