package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// guards knows two users, of whom one may read.
type guards struct {
	err   error
	asked []string
	from  []netip.Addr
}

func (g *guards) Check(_ context.Context, from netip.Addr, token, path, verb string) (user string, allowed bool, err error) {
	g.asked, g.from = append(g.asked, token+" "+verb+" "+path), append(g.from, from)
	switch {
	case g.err != nil:
		return "", false, g.err
	case token == "root":
		return "admin", true, nil
	case token == "reader":
		return "system:serviceaccount:ns:reader", verb == "get" || verb == "head", nil
	}
	return "", false, nil
}

// guarded is a change of Options.
func guarded(g *guards) func(*Options) {
	return func(o *Options) { o.Access, o.TLS = g, &tls.Config{MinVersion: tls.VersionTLS12} }
}

func token(of string) []string { return append([]string{"Authorization", "Bearer " + of}, jsonType...) }

// everyRoute is one request to each path of the API, and to some that it does not have.
var everyRoute = []struct{ method, path, body string }{
	{"GET", "/", ""}, {"GET", "/page.css", ""}, {"GET", "/page.js", ""}, {"GET", "/why/metal3/host-1", ""},
	{"POST", "/v1/isready", goodAsk}, {"GET", "/v1/isready", ""}, {"GET", "/v1/status", ""}, {"HEAD", "/v1/status", ""},
	{"GET", "/v1/slots", ""}, {"GET", "/v1/queue", ""}, {"GET", "/v1/holds", ""}, {"GET", "/v1/breakers", ""}, {"GET", "/v1/why/a/b", ""},
	{"GET", "/v1/plan", ""}, {"GET", "/v1/plan/state", ""}, {"GET", "/v1/plan/hosts/metal3/host-1", ""},
	{"POST", "/v1/holds/metal3/host-1/release", ""}, {"POST", "/v1/breakers/group:rack1/reset", ""}, {"POST", "/v1/breakers/group:rack1/trip", ""},
	{"GET", "/v1/nothing", ""}, {"GET", "//v1/status", ""}, {"DELETE", "/v1/slots", ""}, {"OPTIONS", "/v1/status", ""},
}

func TestEveryRouteOfTheAPIIsGuarded(t *testing.T) {
	for _, row := range []struct {
		name    string
		headers []string
		err     error
		code    int
	}{
		{"no token", jsonType, nil, 401},
		{"wrong token", token("wrong"), nil, 401},
		{"empty token", token(""), nil, 401},
		{"another scheme", append([]string{"Authorization", "Basic cm9vdDp4"}, jsonType...), nil, 401},
		{"the API server is away", token("root"), errors.New("sesame: connection refused"), 503},
		{"token without rights", token("reader"), nil, 403},
		{"token", token("root"), nil, 0},
	} {
		for _, r := range everyRoute {
			f := seen()
			w := send(t, made(t, f, guarded(&guards{err: row.err})).API(), r.method, r.path, r.body, row.headers...)
			if row.code == 0 || row.code == 403 && (r.method == "GET" || r.method == "HEAD") {
				if open := send(t, made(t, seen()).API(), r.method, r.path, r.body, jsonType...); w.Code != open.Code {
					t.Errorf("%s, %s %s: %d, without a guard %d", row.name, r.method, r.path, w.Code, open.Code)
				}
				continue
			}
			if challenge := w.Header().Values("WWW-Authenticate"); (row.code == 401) != slices.Equal(challenge, []string{"Bearer"}) {
				t.Errorf("%s, %s %s: challenge %q", row.name, r.method, r.path, challenge)
			}
			if e := isError(t, w, row.code, ""); strings.Contains(e.Message, "sesame") {
				t.Errorf("the cause leaks: %q", e.Message)
			}
			if f.asked()+len(f.changes) != 0 {
				t.Errorf("%s, %s %s: the decision was asked", row.name, r.method, r.path)
			}
		}
	}
}

func TestTheGuardIsAskedForVerbAndPath(t *testing.T) {
	g := &guards{}
	s := made(t, seen(), guarded(g))
	send(t, s.API(), "GET", "/v1/queue?limit=7", "", token("root")...)
	send(t, s.API(), "HEAD", "/v1/status", "", token("root")...)
	send(t, s.API(), "POST", "/v1/breakers/image:http%3A%2F%2Fx%2Fy/reset", "", token("root")...)
	send(t, s.API(), "GET", "/v1/status", "", "Authorization", "bEARER   root")
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/status", nil)
	r.Header["Authorization"] = []string{"Bearer wrong", "Bearer root"} // which of two counts would be a guess
	w := httptest.NewRecorder()
	s.API().ServeHTTP(w, r)
	isError(t, w, 401, "")
	want := []string{"root get /v1/queue", "root head /v1/status", "root post /v1/breakers/image:http://x/y/reset", "root get /v1/status"}
	if diff := cmp.Diff(want, g.asked); diff != "" {
		t.Error(diff)
	}
}

// Headers of proxies do not count: any client may set them.
func TestTheGuardIsToldWhereATokenComesFrom(t *testing.T) {
	for remote, want := range map[string]netip.Addr{"[2001:db8::1]:1": netip.MustParseAddr("2001:db8::1"), "@": {}} {
		g := &guards{}
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/status", nil)
		r.Header["Authorization"], r.RemoteAddr = []string{"Bearer root"}, remote
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
		made(t, seen(), guarded(g)).API().ServeHTTP(httptest.NewRecorder(), r)
		if !slices.Equal(g.from, []netip.Addr{want}) {
			t.Errorf("%q: from %v, want %v", remote, g.from, want)
		}
	}
}

// by asks h by a name.
func by(host string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = host
		h.ServeHTTP(w, r)
	})
}

// The local listener is there for commands in the pod, which have no token. A page of another site can have a name of
// its own that leads to loopback: the listener answers to names of this machine only.
func TestTheLocalListenerAsksForNoToken(t *testing.T) {
	g := &guards{}
	local := made(t, seen(), guarded(g)).Local()
	for _, r := range everyRoute {
		w := send(t, by("127.0.0.1:8087", local), r.method, r.path, r.body, jsonType...)
		if open := send(t, made(t, seen()).API(), r.method, r.path, r.body, jsonType...); w.Code != open.Code || len(g.asked) > 0 {
			t.Errorf("%s %s: %d, without a guard %d; asked %q", r.method, r.path, w.Code, open.Code, g.asked)
		}
	}
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.8.8.8:1": 200, "LocalHost:8087": 200, "[::1]:8087": 200, "": 200,
		"evil.example:8087": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example:8087": 421, "10.0.0.1:8087": 421, "[::1]x": 421,
	} {
		if w := send(t, by(host, local), "GET", "/v1/status", ""); w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
	}
}

// Profiles take a core for seconds, so they are on the local listener alone.
func TestProfilesAreLocal(t *testing.T) {
	s := made(t, seen())
	const path = "/debug/pprof/heap?debug=1"
	if w := send(t, by("localhost", s.Local()), "GET", path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), "heap profile") {
		t.Errorf("%d %.80q", w.Code, w.Body)
	}
	for _, h := range []http.Handler{s.API(), s.Health(), s.Metrics()} {
		isError(t, send(t, h, "GET", path, ""), 404, "")
	}
}

// Beyond loopback a token guards /metrics. Health needs none.
func TestMetricsAreGuardedLikeTheAPI(t *testing.T) {
	for _, row := range []struct {
		headers []string
		err     error
		code    int
	}{
		{nil, nil, 401}, {token("wrong"), nil, 401}, {token("reader"), nil, 200}, {token("root"), errors.New("sesame"), 503},
	} {
		g := &guards{err: row.err}
		s := made(t, seen(), func(o *Options) { o.MetricsAccess, o.MetricsTLS = g, &tls.Config{MinVersion: tls.VersionTLS12} })
		w := send(t, s.Metrics(), "GET", "/metrics", "", row.headers...)
		if shows := strings.Contains(w.Body.String(), "ironic_throttle_"); w.Code != row.code || shows != (row.code == 200) {
			t.Errorf("%q: %d, want %d; it shows metrics: %t", row.headers, w.Code, row.code, shows)
		}
		if w := send(t, s.Health(), "GET", "/readyz", ""); w.Code != 200 {
			t.Errorf("/readyz: %d", w.Code)
		}
	}
}

func TestTokensNeedTLS(t *testing.T) {
	for _, o := range []Options{{Decider: seen(), Access: &guards{}}, {Decider: seen(), MetricsAccess: &guards{}}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "TLS") {
			t.Errorf("error %v", err)
		}
	}
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "Decider") {
		t.Errorf("error %v", err)
	}
}
