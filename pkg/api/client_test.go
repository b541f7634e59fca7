package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// trip is a network in memory.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// says answers every request with code and body.
func says(code int, body string) trip {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
}

func client(t *testing.T, rt http.RoundTripper) *Client {
	t.Helper()
	c, err := NewClient("http://throttle.test/", Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.http.Transport = rt
	return c
}

var ask = Ask{Namespace: "metal3", Name: "host-1", Op: OpProvision, ErrorCount: 12}

func TestNoErrorEverComesWithAYes(t *testing.T) {
	const yes = `{"ready":true,"reason":"granted"}`
	broken := errors.New("connection refused")
	for _, row := range []struct {
		name string
		rt   trip
		want error // nil: an *Error
		code int
	}{
		{"no connection", func(*http.Request) (*http.Response, error) { return nil, broken }, ErrUnreachable, 0},
		{"torn body", func(r *http.Request) (*http.Response, error) {
			resp, err := says(200, "")(r)
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(yes), failing{broken}))
			return resp, err
		}, ErrUnreachable, 0},
		{"not JSON", says(200, "<html>ready</html>"), ErrBadAnswer, 0},
		{"empty", says(200, ""), ErrBadAnswer, 0},
		{"two", says(200, yes+yes), ErrBadAnswer, 0},
		{"null", says(200, "null"), ErrBadAnswer, 0},
		{"no for a reason of a later release", says(200, `{"ready":false,"reason":"new"}`), nil, -1},
		{"yes without a reason", says(200, `{"ready":true}`), ErrBadAnswer, 0},
		{"yes with the reason of a no", says(200, `{"ready":true,"reason":"full"}`), ErrBadAnswer, 0},
		{"no with the reason of a yes", says(200, `{"ready":false,"reason":"granted"}`), ErrBadAnswer, 0},
		{"other 2xx", says(202, yes), nil, 202},
		{"redirect", says(301, yes), nil, 301},
		{"500 with a yes", says(500, yes), nil, 500},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := client(t, row.rt).IsReady(t.Context(), ask)
			if got.Ready {
				t.Errorf("ready with %v", err)
			}
			if row.code < 0 { // a plain no
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			var e *Error
			if row.want != nil && !errors.Is(err, row.want) || row.code > 0 && (!errors.As(err, &e) || e.Code != row.code || e.Message == "") {
				t.Errorf("error %v, want %v %d", err, row.want, row.code)
			}
		})
	}
}

// failing is a body that breaks.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// hangs answers when the request is given up.
func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// trickles answers at once and then never ends its body.
func trickles(r *http.Request) (*http.Response, error) {
	resp, err := says(200, "")(r)
	resp.Body = io.NopCloser(waiting{r.Context()})
	return resp, err
}

type waiting struct{ ctx context.Context }

func (w waiting) Read([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, w.ctx.Err()
}

func TestNewClientChecksItsURL(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:8087", "ftp://h", "http://", "http://h?x=1", "http://h#f", "http://u:sesame@h", "ftp://u:sesame@h", "http://u:ses%zzame@h"} {
		if _, err := NewClient(url, Options{}); err == nil || strings.Contains(err.Error(), "same") {
			t.Errorf("%q: %v", url, err)
		}
	}
	c, err := NewClient("http://127.0.0.1:8087/", Options{})
	if err != nil || c.base != "http://127.0.0.1:8087" {
		t.Errorf("%+v, %v", c, err)
	}
}
