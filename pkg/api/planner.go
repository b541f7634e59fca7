package api

import (
	"context"
	"encoding/json"
	"net/http"
)

// Plan returns what could be released or provisioned again (docs/planned-work.md). Nothing
// changes by it. The *Error has Code 404 and the Field PlannerOff where nothing is planned, and
// Code 502 or 503 where the cluster cannot be read, or not in time. Errors are else as in IsReady.
func (c *Client) Plan(ctx context.Context) (Plan, error) {
	var p Plan
	if err := c.planning(ctx, "/v1/plan", &p); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// PlanState returns the document that a plan is made of, as `ironic-throttle plan --state`
// reads it: settings, machines, hosts, nodes and pods. Errors are as in Plan.
func (c *Client) PlanState(ctx context.Context) (json.RawMessage, error) {
	var document json.RawMessage
	if err := c.planning(ctx, "/v1/plan/state", &document); err != nil {
		return nil, err
	}
	return document, nil
}

// PlanExplanation tells why a host is a candidate of planned work or not. The *Error has Code
// 404 and the Field PlanHostUnknown for a host that is none. Errors are else as in Plan.
func (c *Client) PlanExplanation(ctx context.Context, namespace, name string) (PlanExplanation, error) {
	if name == "" {
		return PlanExplanation{}, fieldError("name", "", "must be set")
	}
	var e PlanExplanation
	if err := c.planning(ctx, hostPath("/v1/plan/hosts/", namespace, name), &e); err != nil {
		return PlanExplanation{}, err
	}
	return e, nil
}

// planning asks for what has to be read of the cluster first.
func (c *Client) planning(ctx context.Context, path string, out any) error {
	return c.callWithin(ctx, c.planned, http.MethodGet, path, nil, maxState, out)
}
