package gateway_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
)

// A name may be another node's by now, which is written to by its UUID: only what is asked
// by UUID is kept.
func TestGW18_OnlyWhatIsAskedByUUIDIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const name = "ns-01~host-00002"
		l := full(t, labOptions{})
		defer l.close()
		l.refuse(1)
		l.poll()
		patch := func(n int, body string) {
			if got := l.do(named(newRequest(http.MethodPatch, "/v1/nodes/"+l.uuids[n], body))); got.Code != http.StatusOK {
				t.Fatalf("%d %s", got.Code, got.Body)
			}
		}
		rename := func(n int, name string) {
			patch(n, fmt.Sprintf(`[{"op": "replace", "path": "/name", "value": %q}]`, name))
		}
		rename(1, "elsewhere")
		rename(2, name)
		paths := append(readsOf(name), readsOf("elsewhere")...)
		paths = append(paths, "/v1/nodes/"+name+"?fields=name,extra", "/v1/nodes/ns-01%7Ehost-00002")
		for _, path := range paths {
			l.do(read(path))
		}
		patch(2, `[{"op": "add", "path": "/extra/k", "value": "new"}]`)
		for _, path := range paths {
			l.same(func() *http.Request { return read(path) }, "")
		}
	})
}

// between adds a header to whatever Ironic answers to a GET.
type between struct {
	next        http.RoundTripper
	name, value string
}

func (b between) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil && b.name != "" && r.Method == http.MethodGet {
		resp.Header.Set(b.name, b.value)
	}
	return resp, err
}

// An answer that is one client's, or in a form of its own, is nobody else's.
func TestGW18_WhoseAnAnswerIs(t *testing.T) {
	for _, row := range []struct{ name, value, want string }{
		{"", "", "host"},
		{"Vary", "", "host"},
		{"Vary", "Accept, accept-encoding,X-Auth-Token", "host"},
		{"Vary", "User-Agent", ""},
		{"Vary", "Accept, *", ""},
		{"Content-Encoding", "gzip", ""},
		{"Set-Cookie", "session=1", ""},
		{"Cache-Control", "max-age=5", "host"},
		{"Cache-Control", "max-age=5, No-Store", ""},
		{"Cache-Control", "no-cache", ""},
		{"Cache-Control", `private="x"`, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := full(t, labOptions{gate: func(o *gateway.Options) { o.Transport = between{o.Transport, row.name, row.value} }})
			defer l.close()
			l.refuse(1)
			l.poll()
			for _, path := range readsOf(l.uuids[1]) {
				l.do(read(path))
				if got := l.from(path); got != row.want {
					t.Errorf("%s: %q: %s is answered from %q, want %q", row.name, row.value, path, got, row.want)
				}
			}
		})
	}
}

func TestGW18_WhatAnAnswerMayDependOnIsInItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := full(t, labOptions{})
		defer l.close()
		l.refuse(1)
		l.poll()
		for _, path := range readsOf(l.uuids[1]) {
			for _, name := range []string{"Accept", "Accept-Encoding", "Accept-Language", "Authorization"} {
				ask := func(value string) *http.Request {
					r := read(path)
					r.Header.Set(name, value)
					return r
				}
				one, other := "gzip", "de"
				if name == "Accept" {
					one, other = jsonType, "*/*"
				}
				admitted := get("/v1/nodes")
				admitted.Header = ask(other).Header
				l.do(admitted)
				l.same(func() *http.Request { return ask(one) }, "")
				l.same(func() *http.Request { return ask(one) }, "host")
				l.same(func() *http.Request { return ask(other) }, "")
			}
		}
	})
}
