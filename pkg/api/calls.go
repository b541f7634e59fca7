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

// NoNamespace takes the place of the namespace in the path of a host without one: a node that BMO did not name.
const NoNamespace = "-"

// IsReady asks whether a host may start. A no is an Answer and not an error; its RetryAfterSeconds says when to ask
// again. With every error the Answer's Ready is false: a caller that starts work all the same breaks the limit.
//
// A yes takes a slot for the host until its work has ended. So ask only for work that starts now, never keep a yes for
// later, and ask again before each further phase: a host that holds a slot gets a yes at once.
func (c *Client) IsReady(ctx context.Context, ask Ask) (Answer, error) {
	return c.answer(ctx, http.MethodPost, ask.Normalize())
}

// Vacancy asks whether a slot is free, for no host in particular. It takes no slot, so many callers may get a yes for
// one free slot: ask IsReady before work starts.
func (c *Client) Vacancy(ctx context.Context) (Answer, error) {
	return c.answer(ctx, http.MethodGet, nil)
}

// answer calls isready, and refuses a yes whose reason is not that of a yes: an unknown reason is a no.
func (c *Client) answer(ctx context.Context, method string, body any) (Answer, error) {
	a, err := call[Answer](ctx, c, method, "/v1/isready", body)
	if err == nil && (a.Reason == "" || a.Ready != a.Reason.Yes()) {
		return Answer{}, fmt.Errorf("%w: ready %t with reason %q", ErrBadAnswer, a.Ready, a.Reason)
	}
	return a, err
}

// Status returns the state of the whole throttle: slots, view, breakers, counts, warnings and settings.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/v1/status")
}

// Queue returns the queue of each pool, with the waiting hosts that query asks for.
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

// Why tells why one host waits or works, and what an operator can do. namespace and name are those of the
// BareMetalHost; without a namespace, name is the name or UUID of a node. A host that the throttle does not know has
// StandingUnknown: it is no error.
func (c *Client) Why(ctx context.Context, namespace, name string) (Why, error) {
	return get[Why](ctx, c, "/v1/why/"+hostPath(namespace, name))
}

// hostPath returns a host as the last two segments of a path.
func hostPath(namespace, name string) string {
	return url.PathEscape(cmp.Or(namespace, NoNamespace)) + "/" + url.PathEscape(name)
}

// Holds returns the failed hosts, whether they are held or not.
func (c *Client) Holds(ctx context.Context) (Holds, error) { return get[Holds](ctx, c, "/v1/holds") }

// ReleaseHold ends the hold of a host, so that it may start again; namespace and name are as in Why. With an episode it
// ends only the hold of that failure: the *Error has Code 409 if the host has failed again since. Code 404 with the
// Field "name" means that no such host has failed, and Code 500 that the throttle could not save the release.
func (c *Client) ReleaseHold(ctx context.Context, namespace, name, episode string) (ReleaseAnswer, error) {
	path := "/v1/holds/" + hostPath(namespace, name) + "/release"
	return call[ReleaseAnswer](ctx, c, http.MethodPost, path, ReleaseRequest{Episode: episode})
}

// Breakers returns the circuit breakers of all scopes.
func (c *Client) Breakers(ctx context.Context) (Breakers, error) {
	return get[Breakers](ctx, c, "/v1/breakers")
}

// ResetBreaker closes the breaker of a scope, "ironic" or a conductor group such as "group:rack1", and forgets its
// failures. The *Error has Code 400 for a text that is no scope, and Code 404 with the Field "scope" for a scope that
// has no breaker.
func (c *Client) ResetBreaker(ctx context.Context, scope string) (BreakerAnswer, error) {
	return c.changeBreaker(ctx, scope, "reset", struct{}{})
}

// TripBreaker opens the breaker of a scope for d, from 1 s to 720 h, or for its recovery time if d is 0. The errors are
// those of ResetBreaker; another d is a Code 400 too.
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

// Plan returns which hosts could be released, replaced or provisioned again (docs/planned-work.md). It changes nothing.
// The *Error has Code 404 and the Field PlannerOff if the throttle makes no plans, Code 502 if it cannot read the
// cluster, and Code 503 if it cannot do that in time.
func (c *Client) Plan(ctx context.Context) (Plan, error) { return get[Plan](ctx, c, "/v1/plan") }

// PlanExplanation tells why a host is a candidate of planned work, or why not. The *Error has Code 404 and the Field
// PlanHostUnknown for an unknown host. The other errors are those of Plan.
func (c *Client) PlanExplanation(ctx context.Context, namespace, name string) (PlanExplanation, error) {
	return get[PlanExplanation](ctx, c, "/v1/plan/hosts/"+hostPath(namespace, name))
}
