package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPlannersCalls(t *testing.T) {
	for _, row := range []struct {
		name string
		call func(context.Context, *Client) (any, error)
		want string // what is sent
		json string // what is answered
		got  any
	}{
		{"plan", func(ctx context.Context, c *Client) (any, error) { return c.Plan(ctx) }, "GET /v1/plan",
			`{"dryRun":true,"method":"Emptiness","actions":[{"id":"a","decision":"release","reason":"Empty"}]}`,
			Plan{DryRun: true, Method: MethodEmptiness, Actions: []PlanAction{{ID: "a", Decision: PlanRelease, Reason: PlanEmpty}}}},
		{"state", func(ctx context.Context, c *Client) (any, error) { return c.PlanState(ctx) }, "GET /v1/plan/state",
			`{"version":1, "config":{}}`, json.RawMessage(`{"version":1, "config":{}}`)},
		{"explanation", func(ctx context.Context, c *Client) (any, error) { return c.PlanExplanation(ctx, "metal3", "host-1") }, "GET /v1/plan/hosts/metal3/host-1",
			`{"host":"metal3/host-1","candidate":true,"reason":"Empty"}`, PlanExplanation{Host: "metal3/host-1", Candidate: true, Reason: PlanEmpty}},
	} {
		t.Run(row.name, func(t *testing.T) {
			net := &sent{reply: says(200, row.json)}
			got, err := row.call(t.Context(), client(t, net))
			if !reflect.DeepEqual(got, row.got) || err != nil || !slices.Equal(net.requests, []string{row.want}) {
				t.Errorf("%+v, %v, want %+v; sent %q", got, err, row.got, net.requests)
			}
			net.reply = says(404, `{"error":{"code":404,"message":"the planner is off","field":"disruption"}}`)
			var answered *Error
			if _, err := row.call(t.Context(), client(t, net)); !errors.As(err, &answered) || answered.Code != 404 || answered.Field != PlannerOff {
				t.Errorf("%v", err)
			}
			net.reply = says(200, "<html>")
			if got, err := row.call(t.Context(), client(t, net)); !errors.Is(err, ErrBadAnswer) || !reflect.ValueOf(got).IsZero() {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	var bad *FieldError
	if _, err := client(t, &sent{}).PlanExplanation(t.Context(), "metal3", ""); !errors.As(err, &bad) || bad.Field != "name" {
		t.Errorf("no name: %v", err)
	}
}

// A plan takes longer than an answer to an ask may; who sets a time-out means it.
func TestAPlanHasTimeOfItsOwn(t *testing.T) {
	slow := func(d time.Duration) trip {
		return func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(d):
				return says(200, `{}`)(r)
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
	}
	for _, row := range []struct {
		takes time.Duration
		opts  []Option
		good  bool
	}{
		{time.Minute, nil, true}, {PlanTimeout + time.Second, nil, false},
		{time.Minute, []Option{WithTimeout(time.Second)}, false}, {time.Minute, []Option{WithTimeout(2 * time.Minute)}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, err := NewClient("http://127.0.0.1:1", append(row.opts, WithHTTPClient(&http.Client{Transport: slow(row.takes)}))...)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Plan(t.Context())
			if (err == nil) != row.good || err != nil && !errors.Is(err, ErrUnreachable) {
				t.Errorf("%v with %d options: %v", row.takes, len(row.opts), err)
			}
			if _, err := c.Status(t.Context()); len(row.opts) == 0 && !errors.Is(err, ErrUnreachable) {
				t.Errorf("status after %v: %v", row.takes, err)
			}
		})
	}
}

func TestTheMethodsAreInOrder(t *testing.T) {
	var words []string
	for _, m := range PlanMethods() {
		words = append(words, string(m))
	}
	if got := strings.Join(words, " "); got != "Emptiness StaticDrift Drift MultiNodeConsolidation SingleNodeConsolidation" {
		t.Error(got)
	}
	if len(PlanReasons()) != 3 || len(PlanDecisions()) != 3 {
		t.Errorf("%q, %q", PlanReasons(), PlanDecisions())
	}
}
