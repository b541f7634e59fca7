package api

import (
	"cmp"
	"context"
	"encoding/json"
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
// gives the limit up. Errors are a *FieldError (nothing was sent), an *Error (the throttle's own), or wrap ErrUnreachable
// or ErrBadAnswer.
//
// A yes takes a slot for this host until its work has ended, so ask only for what is going to be done now, and ask again
// before each further phase: a host that holds a slot is told yes at once.
func (c *Client) IsReady(ctx context.Context, ask Ask) (Answer, error) {
	ask = ask.Normalize()
	if err := ask.Validate(); err != nil {
		return Answer{}, err
	}
	return c.answer(ctx, http.MethodPost, ask)
}

// Vacancy asks whether any slot is free, for no host in particular. It takes nothing, so a yes is a guess that many may
// be given at once; IsReady is the question to ask before work starts.
func (c *Client) Vacancy(ctx context.Context) (Answer, error) {
	return c.answer(ctx, http.MethodGet, nil)
}

// answer calls isready and lets nothing through that the throttle cannot have said. A reason that is new to us is a no.
func (c *Client) answer(ctx context.Context, method string, body any) (Answer, error) {
	a, err := call[Answer](ctx, c, exchange{method, "/v1/isready", body, c.timeout, maxBody})
	if err == nil && (a.Reason == "" || a.Ready != a.Reason.Yes()) {
		return Answer{}, fmt.Errorf("%w: ready %t with reason %q", ErrBadAnswer, a.Ready, a.Reason)
	}
	return a, err
}

// Status returns everything that the throttle shows. Errors are as in IsReady.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/v1/status")
}

// Slots returns which hosts hold a slot. Errors are as in IsReady.
func (c *Client) Slots(ctx context.Context) (SlotsView, error) {
	return get[SlotsView](ctx, c, "/v1/slots")
}

// Queue returns the hosts that wait, as far as query wants them, in the order of the queue. Errors are as in IsReady.
func (c *Client) Queue(ctx context.Context, query QueueQuery) (Queue, error) {
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
	return get[Queue](ctx, c, "/v1/queue?"+values.Encode())
}

// Why returns the story of one host; name may be its node's UUID. Without a namespace name is that of a node. A host that
// the throttle does not know is no error: its Standing says so. Errors are as in IsReady.
func (c *Client) Why(ctx context.Context, namespace, name string) (Why, error) {
	path, err := hostPath("/v1/why/", namespace, name)
	if err != nil {
		return Why{}, err
	}
	return get[Why](ctx, c, path)
}

// hostPath is the path of a host below base.
func hostPath(base, namespace, name string) (string, error) {
	if name == "" {
		return "", fieldError("name", "", "must be set")
	}
	return base + url.PathEscape(cmp.Or(namespace, NoNamespace)) + "/" + url.PathEscape(name), nil
}

// Holds returns the failed hosts. Errors are as in IsReady.
func (c *Client) Holds(ctx context.Context) (Holds, error) { return get[Holds](ctx, c, "/v1/holds") }

// ReleaseHold lets a held host be tried again; name may be its node's UUID. Without a namespace name is that of a node.
// With an episode only that failure is released: the *Error has Code 409 when another has followed. Code 404 with the
// Field "name" means that no such host has failed. Other errors are as in IsReady.
func (c *Client) ReleaseHold(ctx context.Context, namespace, name, episode string) (ReleaseAnswer, error) {
	path, err := hostPath("/v1/holds/", namespace, name)
	if err != nil {
		return ReleaseAnswer{}, err
	}
	r := ReleaseRequest{Episode: episode}
	if err := r.Validate(); err != nil {
		return ReleaseAnswer{}, err
	}
	return post[ReleaseAnswer](ctx, c, path+"/release", r)
}

// Breakers returns the circuit breakers. Errors are as in IsReady.
func (c *Client) Breakers(ctx context.Context) (Breakers, error) {
	return get[Breakers](ctx, c, "/v1/breakers")
}

// ResetBreaker closes the breaker of a scope, such as "group:rack1". The *Error has Code 400 for what cannot be a scope,
// and Code 404 with the Field "scope" for one that has no breaker or no host. Other errors are as in IsReady.
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
	if _, err := r.Duration(); err != nil {
		return BreakerAnswer{}, err
	}
	return c.changeBreaker(ctx, scope, "trip", r)
}

func (c *Client) changeBreaker(ctx context.Context, scope, how string, request any) (BreakerAnswer, error) {
	if scope == "" {
		return BreakerAnswer{}, fieldError("scope", "", "must be set")
	}
	return post[BreakerAnswer](ctx, c, "/v1/breakers/"+url.PathEscape(scope)+"/"+how, request)
}

// Plan returns what could be released or provisioned again (docs/planned-work.md). Nothing changes by it. The *Error has
// Code 404 and the Field PlannerOff where nothing is planned, and Code 502 or 503 where the cluster cannot be read, or
// not in time. Other errors are as in IsReady.
func (c *Client) Plan(ctx context.Context) (Plan, error) { return planning[Plan](ctx, c, "/v1/plan") }

// PlanState returns the document that a plan is made of, as `ironic-throttle plan --state` reads it: settings, machines,
// hosts, nodes and pods. Errors are as in Plan.
func (c *Client) PlanState(ctx context.Context) (json.RawMessage, error) {
	return planning[json.RawMessage](ctx, c, "/v1/plan/state")
}

// PlanExplanation tells why a host is a candidate of planned work or not. The *Error has Code 404 and the Field
// PlanHostUnknown for an unknown host. Other errors are as in Plan.
func (c *Client) PlanExplanation(ctx context.Context, namespace, name string) (PlanExplanation, error) {
	path, err := hostPath("/v1/plan/hosts/", namespace, name)
	if err != nil {
		return PlanExplanation{}, err
	}
	return planning[PlanExplanation](ctx, c, path)
}

// planning asks for what the throttle has to read of the cluster first.
func planning[T any](ctx context.Context, c *Client, path string) (T, error) {
	return call[T](ctx, c, exchange{http.MethodGet, path, nil, c.planned, maxState})
}
