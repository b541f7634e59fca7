package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
)

// What changes something tells a no from a throttle that cannot be asked.
func TestExitCodesOfChanges(t *testing.T) {
	const good = `{"released":true,"changed":true,"message":"done"}`
	for _, row := range []struct {
		name string
		code int
		body string
		want int
	}{
		{"done", 200, good, cli.Yes},
		{"done before", 200, `{"released":false,"changed":false,"message":"m"}`, cli.Yes},
		{"no such scope", 400, `{"error":{"code":400,"message":"scope: m","field":"scope"}}`, cli.WrongUse},
		{"without a token", 401, `{"error":{"code":401,"message":"m"}}`, cli.WrongUse},
		{"forbidden", 403, `{"error":{"code":403,"message":"m"}}`, cli.WrongUse},
		{"no such thing", 404, `{"error":{"code":404,"message":"m","field":"name"}}`, cli.No},
		{"older throttle", 404, `{"error":{"code":404,"message":"no such path"}}`, cli.Unreachable},
		{"something else", 404, `<html>`, cli.Unreachable},
		{"older episode", 409, `{"error":{"code":409,"message":"m","field":"episode"}}`, cli.No},
		{"not saved", 500, `{"error":{"code":500,"message":"m"}}`, cli.No},
		{"proxy", 503, `upstream`, cli.Unreachable},
		{"not JSON", 200, `<html>`, cli.Unreachable},
	} {
		for _, args := range [][]string{{"holds", "release", "ns/host"}, {"breakers", "reset", "ironic"}, {"breakers", "trip", "ironic", "--for", "1h"}} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(row.code)
				_, _ = w.Write([]byte(row.body))
			}))
			var out, errs bytes.Buffer
			p := &cli.Process{Stdout: &out, Stderr: &errs}
			if got := p.Execute(t.Context(), root(p), append(args, "--server", s.URL)); got != row.want {
				t.Errorf("%s, %v: exit code %d, want %d", row.name, args, got, row.want)
			}
			if (out.Len() > 0) != (row.want == cli.Yes) || (errs.Len() > 0) == (row.want == cli.Yes) {
				t.Errorf("%s, %v: stdout %q, stderr %q", row.name, args, &out, &errs)
			}
			s.Close()
		}
	}
}

func TestHostsAndScopesReachThePath(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		got = append(got, r.Method+" "+r.URL.EscapedPath()+" "+body.String())
		_, _ = w.Write([]byte("{}"))
	}))
	defer s.Close()
	t.Setenv(serverVariable, s.URL)
	var want []string
	for _, row := range []struct{ args, want string }{
		{"holds release metal3/host-1", "POST /v1/holds/metal3/host-1/release {}"},
		{"holds release metal3~host-1", "POST /v1/holds/metal3/host-1/release {}"},
		{"holds release bare --episode e-1", `POST /v1/holds/-/bare/release {"episode":"e-1"}`},
		{"holds release 3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", "POST /v1/holds/-/3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b/release {}"},
		{"breakers reset group:rack1", "POST /v1/breakers/group:rack1/reset {}"},
		{"breakers trip image:http://x/a.md5 --for 30m", `POST /v1/breakers/image:http:%2F%2Fx%2Fa.md5/trip {"for":"30m0s"}`},
		{"breakers trip ironic", "POST /v1/breakers/ironic/trip {}"},
		{"holds", "GET /v1/holds "},
		{"breakers", "GET /v1/breakers "},
	} {
		p := &cli.Process{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
		if code := p.Execute(t.Context(), root(p), strings.Fields(row.args)); code != cli.Yes {
			t.Errorf("%s: exit code %d", row.args, code)
		}
		want = append(want, row.want)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
