package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// sent is a network in memory that keeps what was asked.
type sent struct {
	requests []string // method, path and body
	reply    trip
}

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	line := r.Method + " " + r.URL.RequestURI() + " " + string(body)
	if r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/json" {
		line += " without its type"
	}
	s.requests = append(s.requests, strings.TrimSpace(line))
	return s.reply(r)
}

func TestCalls(t *testing.T) {
	hold := Hold{Name: "host-1", Episode: "e-1", Kind: "deployment", Held: true}
	breaker := Breaker{Scope: "ironic", State: "OPEN", TimeToRecovery: 9.5}
	type calls = func(context.Context, *Client) (any, error)
	for _, row := range []struct {
		call calls
		want string // what is sent
		json string // what is answered
		got  any
	}{
		{func(ctx context.Context, c *Client) (any, error) { return c.IsReady(ctx, ask) },
			`POST /v1/isready {"namespace":"metal3","name":"host-1","op":"provision","errorCount":9}`,
			`{"ready":false,"reason":"full","retryAfterSeconds":60,"later":"fields are fine"}`, Answer{Reason: ReasonFull, RetryAfterSeconds: 60}},
		{func(ctx context.Context, c *Client) (any, error) { return c.Status(ctx) }, "GET /v1/status",
			`{"version":"v1","slots":{"total":{"limit":20}}}`, Status{Version: "v1", Slots: SlotsView{Total: Slots{Limit: 20}}}},
		{func(ctx context.Context, c *Client) (any, error) { return c.Queue(ctx, QueueQuery{Limit: 20}) }, "GET /v1/queue?limit=20",
			`{"pools":[{"waiting":2}]}`, Queue{Pools: []PoolQueue{{Waiting: 2}}}},
		{func(ctx context.Context, c *Client) (any, error) {
			return c.Queue(ctx, QueueQuery{Namespace: "a b", Reason: ReasonHold, Pool: new(string)})
		}, "GET /v1/queue?limit=0&namespace=a+b&pool=&reason=hold", `{}`, Queue{}},
		{func(ctx context.Context, c *Client) (any, error) { return c.Why(ctx, "", "h") }, "GET /v1/why/-/h", `{"host":"h"}`, Why{Host: "h"}},
		{func(ctx context.Context, c *Client) (any, error) { return c.Holds(ctx) }, "GET /v1/holds",
			`{"timeout":"48h","hosts":[{"name":"host-1","episode":"e-1","kind":"deployment","held":true}]}`, Holds{Timeout: "48h", Hosts: []Hold{hold}}},
		{func(ctx context.Context, c *Client) (any, error) { return c.Breakers(ctx) }, "GET /v1/breakers",
			`{"enabled":true,"breakers":[{"scope":"ironic","state":"OPEN","timeToRecoverySeconds":9.5}]}`, Breakers{Enabled: true, Breakers: []Breaker{breaker}}},
		{func(ctx context.Context, c *Client) (any, error) { return c.ReleaseHold(ctx, "metal3", "host-1", "") },
			"POST /v1/holds/metal3/host-1/release {}", `{"released":true}`, ReleaseAnswer{Released: true}},
		{func(ctx context.Context, c *Client) (any, error) { return c.ReleaseHold(ctx, "", "a b/c?d", "e-1") },
			`POST /v1/holds/-/a%20b%2Fc%3Fd/release {"episode":"e-1"}`, `{"released":false}`, ReleaseAnswer{}},
		{func(ctx context.Context, c *Client) (any, error) { return c.ResetBreaker(ctx, "image:http://x/sums#%") },
			"POST /v1/breakers/image:http:%2F%2Fx%2Fsums%23%25/reset {}", `{"changed":true}`, BreakerAnswer{Changed: true}},
		{func(ctx context.Context, c *Client) (any, error) { return c.TripBreaker(ctx, "group:rack1", 0) },
			"POST /v1/breakers/group:rack1/trip {}", `{"changed":true}`, BreakerAnswer{Changed: true}},
		{func(ctx context.Context, c *Client) (any, error) { return c.TripBreaker(ctx, "ironic", 90*time.Minute) },
			`POST /v1/breakers/ironic/trip {"for":"1h30m0s"}`, `{"changed":true}`, BreakerAnswer{Changed: true}},
		{func(ctx context.Context, c *Client) (any, error) { return c.Plan(ctx) }, "GET /v1/plan",
			`{"dryRun":true,"method":"Emptiness"}`, Plan{DryRun: true, Method: MethodEmptiness}},
		{func(ctx context.Context, c *Client) (any, error) { return c.PlanExplanation(ctx, "metal3", "host-1") },
			"GET /v1/plan/hosts/metal3/host-1", `{"host":"metal3/host-1"}`, PlanExplanation{Host: "metal3/host-1"}},
	} {
		net := &sent{reply: says(200, row.json)}
		got, err := row.call(t.Context(), client(t, net))
		if !reflect.DeepEqual(got, row.got) || err != nil || !slices.Equal(net.requests, []string{row.want}) {
			t.Errorf("%+v, %v, want %+v; sent %q, want %q", got, err, row.got, net.requests, row.want)
		}
		for _, bad := range []struct {
			reply trip
			want  func(error) bool
		}{
			{says(200, "<html>"), func(err error) bool { return errors.Is(err, ErrBadAnswer) }},
			{says(409, `{"error":{"message":"m","field":"episode"}}`), func(err error) bool {
				e := new(Error)
				return errors.As(err, &e) && e.Code == 409 && e.Field == "episode"
			}},
			{func(*http.Request) (*http.Response, error) { return nil, io.EOF }, func(err error) bool { return errors.Is(err, ErrUnreachable) }},
		} {
			if got, err := row.call(t.Context(), client(t, bad.reply)); !bad.want(err) || !reflect.ValueOf(got).IsZero() {
				t.Errorf("%s: %+v, error %v", row.want, got, err)
			}
		}
	}
}

func TestErrorsNameTheFieldOnce(t *testing.T) {
	for want, e := range map[string]error{
		"ironic-throttle answered 400: op: is given twice":     &Error{Code: 400, Field: "op", Message: "op: is given twice"},
		"ironic-throttle answered 404: name: a has not failed": &Error{Code: 404, Field: "name", Message: "a has not failed"},
		"ironic-throttle answered 500: m":                      &Error{Code: 500, Message: "m"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A plan takes longer than an answer to an ask may. A time-out that is set bounds both.
func TestAPlanHasTimeOfItsOwn(t *testing.T) {
	for _, row := range []struct {
		set, plan, status time.Duration
	}{
		{0, PlanTimeout, DefaultTimeout}, {-1, PlanTimeout, DefaultTimeout}, {time.Minute, time.Minute, time.Minute},
	} {
		for _, rt := range []trip{hangs, trickles} {
			synctest.Test(t, func(t *testing.T) {
				c, begun := client(t, rt), time.Now()
				c.set.Timeout = row.set
				_, err := c.Plan(t.Context())
				if took := time.Since(begun); took != row.plan || !errors.Is(err, ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a plan with time-out %v took %v: %v", row.set, took, err)
				}
				begun = time.Now()
				got, err := c.IsReady(t.Context(), ask)
				if took := time.Since(begun); took != row.status || !errors.Is(err, ErrUnreachable) || got.Ready {
					t.Errorf("an ask with time-out %v took %v: %v", row.set, took, err)
				}
			})
		}
	}
}
