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
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// guards knows two users, of whom one may read.
type guards struct {
	err   error
	asked []string
	from  []netip.Addr
}

func (g *guards) Check(_ context.Context, from netip.Addr, token, path, verb string) (user string, allowed bool, err error) {
	g.asked, g.from = append(g.asked, token+" "+verb+" "+path), append(g.from, from)
	if g.err != nil {
		return "", false, g.err
	}
	switch token {
	case "root":
		return "admin", true, nil
	case "reader":
		return "system:serviceaccount:ns:reader", verb == "get" || verb == "head", nil
	}
	return "", false, nil
}

// guarded is a change of Options.
func guarded(g *guards) func(*Options) {
	return func(o *Options) { o.Access, o.TLS = g, &tls.Config{MinVersion: tls.VersionTLS12} }
}

func token(of string) []string { return append([]string{"Authorization", "Bearer " + of}, jsonType...) }

// everyRoute is one request to each path of the API, by route.
var everyRoute = []struct{ method, path, body string }{
	{"GET", "/", ""}, {"GET", "/page.css", ""}, {"GET", "/page.js", ""}, {"GET", "/why/metal3/host-1", ""}, {"POST", "/v1/isready", goodAsk}, {"GET", "/v1/isready", ""}, {"GET", "/v1/status", ""}, {"HEAD", "/v1/status", ""},
	{"GET", "/v1/slots", ""}, {"GET", "/v1/queue", ""}, {"GET", "/v1/holds", ""}, {"GET", "/v1/breakers", ""},
	{"GET", "/v1/plan", ""}, {"GET", "/v1/plan/state", ""}, {"GET", "/v1/plan/hosts/metal3/host-1", ""},
	{"POST", "/v1/holds/metal3/host-1/release", ""}, {"POST", "/v1/breakers/group:rack1/reset", ""}, {"POST", "/v1/breakers/group:rack1/trip", ""},
	{"GET", "/v1/nothing", ""}, {"DELETE", "/v1/slots", ""}, {"OPTIONS", "/v1/status", ""},
}

// eager is a fake that does whatever it is told.
func eager() *fake {
	f := seen()
	f.release = func(string, string, string) (api.ReleaseAnswer, error) { return api.ReleaseAnswer{Released: true}, nil }
	f.change = func(string, string, time.Duration) (api.BreakerAnswer, error) { return api.BreakerAnswer{}, nil }
	return f
}

func TestEveryRouteOfTheAPIIsGuarded(t *testing.T) {
	for _, r := range everyRoute {
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
			{"nobody knows", token("root"), errors.New("sesame: connection refused"), 503},
			{"right token without rights", token("reader"), nil, 403},
			{"right token", token("root"), nil, 0},
		} {
			if row.code == 403 && (r.method == "GET" || r.method == "HEAD") {
				row.code = 0
			}
			t.Run(row.name+" "+r.method+" "+r.path, func(t *testing.T) {
				f, g := eager(), &guards{err: row.err}
				s := made(t, f, guarded(g))
				w := send(t, s.API(), r.method, r.path, r.body, row.headers...)
				open := send(t, made(t, eager()).API(), r.method, r.path, r.body, jsonType...)
				if row.code == 0 {
					if w.Code != open.Code {
						t.Errorf("%d, without a guard %d", w.Code, open.Code)
					}
					return
				}
				if challenge := w.Header().Values("WWW-Authenticate"); (row.code == 401) != slices.Equal(challenge, []string{"Bearer"}) {
					t.Errorf("challenge %q", challenge)
				}
				if e := isError(t, w, row.code, ""); strings.Contains(e.Message, "sesame") {
					t.Errorf("the cause leaks: %q", e.Message)
				}
				if f.asked() != 0 {
					t.Error("the decision was asked")
				}
			})
		}
	}
}

func TestTheGuardIsAskedForVerbAndPath(t *testing.T) {
	g := &guards{}
	s := made(t, eager(), guarded(g))
	send(t, s.API(), "GET", "/v1/queue?limit=7", "", token("root")...)
	send(t, s.API(), "HEAD", "/v1/status", "", token("root")...)
	send(t, s.API(), "POST", "/v1/breakers/image:http%3A%2F%2Fx%2Fy/reset", "", token("root")...)
	send(t, s.API(), "GET", "/v1/status", "", "Authorization", "bEARER   root")
	want := []string{"root get /v1/queue", "root head /v1/status", "root post /v1/breakers/image:http://x/y/reset", "root get /v1/status"}
	if diff := cmp.Diff(want, g.asked); diff != "" {
		t.Error(diff)
	}
}

func TestTheGuardIsToldWhereATokenComesFrom(t *testing.T) {
	for remote, want := range map[string]netip.Addr{
		"192.0.2.1:1234": netip.MustParseAddr("192.0.2.1"), "[2001:db8::1]:1": netip.MustParseAddr("2001:db8::1"),
		"": {}, "@": {}, "192.0.2.1": {},
	} {
		g := &guards{}
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/status", nil)
		r.Header["Authorization"], r.RemoteAddr = []string{"Bearer root"}, remote
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
		made(t, eager(), guarded(g)).API().ServeHTTP(httptest.NewRecorder(), r)
		if !slices.Equal(g.from, []netip.Addr{want}) {
			t.Errorf("%q: from %v, want %v", remote, g.from, want)
		}
	}
}

// Which of two tokens counts would be a guess.
func TestTwoTokensAreNone(t *testing.T) {
	g := &guards{}
	s := made(t, seen(), guarded(g))
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/status", nil)
	r.Header["Authorization"] = []string{"Bearer wrong", "Bearer root"}
	w := httptest.NewRecorder()
	s.API().ServeHTTP(w, r)
	isError(t, w, 401, "")
	if len(g.asked) > 0 {
		t.Errorf("asked %q", g.asked)
	}
}

// The local listener is there for who has no token to show: commands in the pod.
func TestTheLocalListenerAsksNobody(t *testing.T) {
	for _, r := range everyRoute {
		g := &guards{}
		w := send(t, by("127.0.0.1:8087", made(t, eager(), guarded(g)).Local()), r.method, r.path, r.body, jsonType...)
		open := send(t, made(t, eager()).API(), r.method, r.path, r.body, jsonType...)
		if w.Code != open.Code || len(g.asked) > 0 {
			t.Errorf("%s %s: %d, without a guard %d; asked %q", r.method, r.path, w.Code, open.Code, g.asked)
		}
	}
	foreign := append([]string{"Sec-Fetch-Site", "cross-site"}, jsonType...)
	isError(t, send(t, by("localhost", made(t, eager(), guarded(&guards{})).Local()), "POST", "/v1/breakers/ironic/trip", "", foreign...), 403, "")
}

// Profiles are the local listener's alone: whoever asks for them takes a core for seconds.
func TestProfilesAreLocal(t *testing.T) {
	s := made(t, eager(), guarded(&guards{}))
	local := by("localhost", s.Local())
	for path, want := range map[string]string{
		"/debug/pprof/": "goroutine", "/debug/pprof/heap?debug=1": "heap profile", "/debug/pprof/goroutine?debug=1": "goroutine profile",
		"/debug/pprof/trace?seconds=0.01": "go 1.", "/debug/pprof/profile?seconds=1": "\x1f\x8b",
	} {
		if w := send(t, local, "GET", path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %.80q, want %q", path, w.Code, w.Body, want)
		}
		open := made(t, eager())
		for name, h := range map[string]http.Handler{"API": open.API(), "health": open.Health(), "metrics": open.Metrics(), "guarded": s.API()} {
			if w := send(t, h, "GET", path, ""); w.Code == 200 {
				t.Errorf("%s on %s: %d", path, name, w.Code)
			}
		}
	}
	isError(t, send(t, by("evil.example", s.Local()), "GET", "/debug/pprof/heap", ""), 421, "")
	isError(t, send(t, local, "POST", "/debug/pprof/heap", ""), 405, "")
}

// by asks h by a name.
func by(host string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = host
		h.ServeHTTP(w, r)
	})
}

// A page of another site can have a name of its own that leads to loopback.
func TestTheLocalListenerIsAskedByItsOwnName(t *testing.T) {
	local := made(t, eager(), guarded(&guards{})).Local()
	for host, want := range map[string]int{
		"127.0.0.1:8087": 200, "127.0.0.1": 200, "127.8.8.8:1": 200, "localhost:8087": 200, "LocalHost": 200, "[::1]:8087": 200, "[::1]": 200,
		"evil.example:8087": 421, "evil.example": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example:8087": 421, "10.0.0.1:8087": 421, "[::1]x": 421, "": 200,
	} {
		for _, path := range []string{"/v1/status", "/"} {
			if w := send(t, by(host, local), "GET", path, ""); w.Code != want {
				t.Errorf("%q %s: %d, want %d", host, path, w.Code, want)
			}
		}
	}
}

func TestTheLocalListenerSpeaksPlainHTTP(t *testing.T) {
	l := Listeners{Local: open(t)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	s := made(t, seen(), guarded(&guards{}))
	go func() { done <- s.Serve(ctx, l) }()
	if code, body, err := request(t, l.Local, "GET", "/v1/status", ""); err != nil || code != 200 {
		t.Errorf("%d %s %v", code, body, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestHealthAndMetricsNeedNoToken(t *testing.T) {
	g := &guards{}
	s := made(t, seen(), guarded(g))
	for path, h := range map[string]http.Handler{"/healthz": s.Health(), "/readyz": s.Health(), "/metrics": s.Metrics()} {
		if w := send(t, h, "GET", path, ""); w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if len(g.asked) > 0 {
		t.Errorf("asked %q", g.asked)
	}
}

// Beyond loopback /metrics is for whoever may get it; health is for everybody.
func TestMetricsAreGuardedLikeTheAPI(t *testing.T) {
	for _, row := range []struct {
		headers []string
		err     error
		code    int
		asked   string
	}{
		{nil, nil, 401, ""},
		{token("wrong"), nil, 401, "wrong get /metrics"},
		{token("reader"), nil, 200, "reader get /metrics"},
		{token("root"), errors.New("sesame"), 503, "root get /metrics"},
	} {
		g := &guards{err: row.err}
		s := made(t, seen(), func(o *Options) { o.MetricsAccess, o.MetricsTLS = g, &tls.Config{MinVersion: tls.VersionTLS12} })
		w := send(t, s.Metrics(), "GET", "/metrics", "", row.headers...)
		if w.Code != row.code || strings.Join(g.asked, " ") != row.asked {
			t.Errorf("%q: %d, want %d; asked %q, want %q", row.headers, w.Code, row.code, g.asked, row.asked)
		}
		if leaks := strings.Contains(w.Body.String(), "ironic_throttle_"); leaks != (row.code == 200) {
			t.Errorf("%q: %s", row.headers, w.Body)
		}
		for path, h := range map[string]http.Handler{"/healthz": s.Health(), "/v1/status": s.API()} {
			if w := send(t, h, "GET", path, ""); w.Code != 200 {
				t.Errorf("%s: %d", path, w.Code)
			}
		}
	}
}

func TestRefusalsAreInTheRequestMetrics(t *testing.T) {
	s := made(t, eager(), guarded(&guards{}))
	send(t, s.API(), "POST", "/v1/breakers/ironic/trip", "")
	send(t, s.API(), "POST", "/v1/breakers/ironic/trip", "", token("reader")...)
	got := send(t, s.Metrics(), "GET", "/metrics", "").Body.String()
	for _, code := range []string{"401", "403"} {
		if want := `http_request_duration_seconds_count{code="` + code + `",route="/v1/breakers/{scope}/trip"} 1`; !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestChangesAreLoggedWithTheirUser(t *testing.T) {
	for _, path := range []string{"/v1/holds/metal3/host-1/release", "/v1/breakers/ironic/reset", "/v1/breakers/ironic/trip"} {
		s, log := logged(t, eager(), guarded(&guards{}))
		if w := send(t, s.API(), "POST", path, "", token("root")...); w.Code != 200 {
			t.Fatalf("%s: %d", path, w.Code)
		}
		if got := log.String(); !strings.Contains(got, "user=admin") || !strings.Contains(got, "remote=192.0.2.1:1234") || strings.Contains(got, "root") {
			t.Errorf("%s: log %s", path, got)
		}
		s, log = logged(t, eager(), func(*Options) {})
		send(t, s.API(), "POST", path, "", jsonType...)
		if got := log.String(); strings.Contains(got, "user=") {
			t.Errorf("%s: log without a guard %s", path, got)
		}
	}
}

func TestTokensNeedTLS(t *testing.T) {
	for _, o := range []Options{{Decider: seen(), Access: &guards{}}, {Decider: seen(), MetricsAccess: &guards{}}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "TLS") {
			t.Errorf("error %v", err)
		}
	}
}
