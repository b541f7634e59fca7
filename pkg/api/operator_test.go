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

func TestOperatorsCalls(t *testing.T) {
	hold := Hold{Name: "host-1", Episode: "e-1", Kind: "deployment", Held: true}
	breaker := Breaker{Scope: "ironic", State: "OPEN", TimeToRecovery: 9.5}
	for _, row := range []struct {
		name string
		call func(context.Context, *Client) (any, error)
		want string // what is sent
		json string // what is answered
		got  any
	}{
		{"holds", func(ctx context.Context, c *Client) (any, error) { return c.Holds(ctx) }, "GET /v1/holds",
			`{"timeout":"48h","hosts":[{"name":"host-1","episode":"e-1","kind":"deployment","held":true}]}`, Holds{Timeout: "48h", Hosts: []Hold{hold}}},
		{"breakers", func(ctx context.Context, c *Client) (any, error) { return c.Breakers(ctx) }, "GET /v1/breakers",
			`{"enabled":true,"breakers":[{"scope":"ironic","state":"OPEN","timeToRecoverySeconds":9.5}]}`, Breakers{Enabled: true, Breakers: []Breaker{breaker}}},
		{"release", func(ctx context.Context, c *Client) (any, error) { return c.ReleaseHold(ctx, "metal3", "host-1", "") },
			"POST /v1/holds/metal3/host-1/release {}", `{"released":true}`, ReleaseAnswer{Released: true}},
		{"release of an episode", func(ctx context.Context, c *Client) (any, error) { return c.ReleaseHold(ctx, "", "a b/c?d", "e-1") },
			`POST /v1/holds/-/a%20b%2Fc%3Fd/release {"episode":"e-1"}`, `{"released":false}`, ReleaseAnswer{}},
		{"reset", func(ctx context.Context, c *Client) (any, error) { return c.ResetBreaker(ctx, "image:http://x/sums#%") },
			"POST /v1/breakers/image:http:%2F%2Fx%2Fsums%23%25/reset {}", `{"changed":true}`, BreakerAnswer{Changed: true}},
		{"trip", func(ctx context.Context, c *Client) (any, error) { return c.TripBreaker(ctx, "group:rack1", 0) },
			"POST /v1/breakers/group:rack1/trip {}", `{"changed":true}`, BreakerAnswer{Changed: true}},
		{"trip for a time", func(ctx context.Context, c *Client) (any, error) { return c.TripBreaker(ctx, "ironic", 90*time.Minute) },
			`POST /v1/breakers/ironic/trip {"for":"1h30m0s"}`, `{"breaker":{"scope":"ironic","state":"OPEN","timeToRecoverySeconds":9.5}}`, BreakerAnswer{Breaker: breaker}},
	} {
		t.Run(row.name, func(t *testing.T) {
			net := &sent{reply: says(200, row.json)}
			got, err := row.call(t.Context(), client(t, net))
			if !reflect.DeepEqual(got, row.got) || err != nil {
				t.Errorf("%+v, %v, want %+v", got, err, row.got)
			}
			if !slices.Equal(net.requests, []string{row.want}) {
				t.Errorf("sent %q, want %q", net.requests, row.want)
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
				if _, err := row.call(t.Context(), client(t, bad.reply)); !bad.want(err) {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}

func TestWhatCannotBeAChangeIsNotSent(t *testing.T) {
	for _, row := range []struct {
		field string
		call  func(context.Context, *Client) error
	}{
		{"name", func(ctx context.Context, c *Client) error { _, err := c.ReleaseHold(ctx, "ns", "", ""); return err }},
		{"episode", func(ctx context.Context, c *Client) error { _, err := c.ReleaseHold(ctx, "ns", "h", "e\n"); return err }},
		{"episode", func(ctx context.Context, c *Client) error {
			_, err := c.ReleaseHold(ctx, "ns", "h", strings.Repeat("e", 256))
			return err
		}},
		{"scope", func(ctx context.Context, c *Client) error { _, err := c.ResetBreaker(ctx, ""); return err }},
		{"scope", func(ctx context.Context, c *Client) error { _, err := c.TripBreaker(ctx, "", time.Hour); return err }},
		{"for", func(ctx context.Context, c *Client) error { _, err := c.TripBreaker(ctx, "ironic", -1); return err }},
		{"for", func(ctx context.Context, c *Client) error {
			_, err := c.TripBreaker(ctx, "ironic", 721*time.Hour)
			return err
		}},
	} {
		net := &sent{reply: says(200, "{}")}
		err := row.call(t.Context(), client(t, net))
		if f := new(FieldError); !errors.As(err, &f) || f.Field != row.field || len(net.requests) > 0 {
			t.Errorf("%s: error %v after %q", row.field, err, net.requests)
		}
	}
}

func TestBodiesOfChanges(t *testing.T) {
	for _, row := range []struct{ body, episode, length, field string }{
		{"", "", "", ""},
		{" \n", "", "", ""},
		{"{}", "", "", ""},
		{`{"episode":"e-1"}`, "e-1", "", "episode"},
		{`{"for":"1s"}`, "", "1s", "for"},
		{`{"for":"720h"}`, "", "720h", "for"},
		{`{"for":""}`, "", "", "for"},
	} {
		release, err := ParseRelease([]byte(row.body))
		if f := new(FieldError); row.field == "for" != errors.As(err, &f) || row.field != "for" && err != nil || release.Episode != row.episode {
			t.Errorf("%q as a release: %+v, %v", row.body, release, err)
		}
		trip, err := ParseTrip([]byte(row.body))
		if f := new(FieldError); row.field == "episode" != errors.As(err, &f) || row.field != "episode" && err != nil || trip.For != row.length {
			t.Errorf("%q as a trip: %+v, %v", row.body, trip, err)
		}
	}
	for _, body := range []string{"[]", "null", "1", "{", "{}{}", `{"for":null}`, `{"for":1}`, `{"for":"999ms"}`, `{"for":"720h1s"}`, `{"for":"1s","for":"1s"}`, `{"for":"1 h"}`} {
		if r, err := ParseTrip([]byte(body)); err == nil || r != (TripRequest{}) {
			t.Errorf("%s: %+v, %v", body, r, err)
		}
	}
}

func TestErrorsNameTheFieldOnce(t *testing.T) {
	for _, row := range []struct {
		e    Error
		want string
	}{
		{Error{Code: 400, Field: "op", Message: "op: is given twice"}, "ironic-throttle answered 400: op: is given twice"},
		{Error{Code: 404, Field: "name", Message: "a is no failed host"}, "ironic-throttle answered 404: name: a is no failed host"},
		{Error{Code: 500, Message: "m"}, "ironic-throttle answered 500: m"},
	} {
		if got := row.e.Error(); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
	if got := (&EpisodeError{Given: "a", Present: "b"}).Error(); !strings.Contains(got, `"a"`) || !strings.Contains(got, `"b"`) {
		t.Error(got)
	}
}
