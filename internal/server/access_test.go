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
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// guards knows two users, of whom one may read.
type guards struct {
	err   error
	asked []string
	from  []string // what was asked, and the address
}

func (g *guards) Check(_ context.Context, from netip.Addr, token, path, verb string) (user string, allowed bool, err error) {
	g.asked = append(g.asked, token+" "+verb+" "+path)
	g.from = append(g.from, g.asked[len(g.asked)-1]+" "+from.String())
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
	{"GET", "/v1/plan", ""}, {"GET", "/v1/plan/hosts/metal3/host-1", ""},
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
			w := send(t, made(t, f, guarded(&guards{err: row.err})).api, r.method, r.path, r.body, row.headers...)
			if row.code == 0 || row.code == 403 && (r.method == "GET" || r.method == "HEAD") {
				if open := send(t, made(t, seen()).api, r.method, r.path, r.body, jsonType...); w.Code != open.Code {
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

// Access is told the verb, the path, and where the token comes from: headers of proxies do not count, any client may set
// them. Which of two tokens counts would be a guess.
func TestTheGuardIsAskedForVerbAndPath(t *testing.T) {
	g := &guards{}
	h := made(t, seen(), guarded(g)).api
	send(t, h, "GET", "/v1/queue?limit=7", "", token("root")...)
	send(t, h, "POST", "/v1/breakers/image:http%3A%2F%2Fx%2Fy/reset", "", token("root")...)
	for remote, tokens := range map[string][]string{"[2001:db8::1]:1": {"bEARER   root"}, "@": {"Bearer wrong", "Bearer root"}} {
		r := httptest.NewRequestWithContext(t.Context(), "HEAD", "/v1/status", nil)
		r.Header["Authorization"], r.RemoteAddr = tokens, remote
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	want := []string{"root get /v1/queue 192.0.2.1", "root post /v1/breakers/image:http://x/y/reset 192.0.2.1", "root head /v1/status 2001:db8::1"}
	if diff := cmp.Diff(want, g.from); diff != "" {
		t.Error(diff)
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
	local := made(t, seen(), guarded(g)).local
	for _, r := range everyRoute {
		w := send(t, by("127.0.0.1:8087", local), r.method, r.path, r.body, jsonType...)
		if open := send(t, made(t, seen()).api, r.method, r.path, r.body, jsonType...); w.Code != open.Code || len(g.asked) > 0 {
			t.Errorf("%s %s: %d, without a guard %d; asked %q", r.method, r.path, w.Code, open.Code, g.asked)
		}
	}
	for host, want := range map[string]int{"LocalHost:8087": 200, "": 200, "127.0.0.1.evil.example:8087": 421} { // internal/httpserve has more
		if w := send(t, by(host, local), "GET", "/v1/status", ""); w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
	}
}

// Profiles take a core for seconds, so they are on the local listener alone. Metrics have a guard of their own, health
// needs none.
func TestProfilesAreLocalAndMetricsGuarded(t *testing.T) {
	g := &guards{}
	s := made(t, seen(), func(o *Options) { o.MetricsAccess, o.MetricsTLS = g, &tls.Config{MinVersion: tls.VersionTLS12} })
	const path = "/debug/pprof/heap?debug=1"
	if w := send(t, by("localhost", s.local), "GET", path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), "heap profile") {
		t.Errorf("%d %.80q", w.Code, w.Body)
	}
	if w := send(t, by("localhost", s.local), "GET", "/debug/pprof/cmdline", ""); w.Code != 404 {
		t.Errorf("whoever is on this machine reads our flags: %d %.80q", w.Code, w.Body)
	}
	for _, h := range []http.Handler{s.api, s.health} {
		isError(t, send(t, h, "GET", path, ""), 404, "")
	}
	isError(t, send(t, s.metrics, "GET", "/metrics", ""), 401, "")
	isError(t, send(t, s.metrics, "GET", "/metrics", "", token("wrong")...), 401, "")
	if w := send(t, s.metrics, "GET", "/metrics", "", token("reader")...); w.Code != 200 || !strings.Contains(w.Body.String(), "ironic_throttle_") {
		t.Errorf("%d", w.Code)
	}
}

func TestTokensNeedTLS(t *testing.T) {
	for _, o := range []Options{{Decider: seen(), Access: &guards{}}, {Decider: seen(), MetricsAccess: &guards{}}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "TLS") {
			t.Errorf("error %v", err)
		}
	}
}

// standby is a change of Options: another one leads until *leads is true.
func standby(leads *atomic.Bool) func(*Options) {
	return func(o *Options) {
		o.Leading, o.Standby = leads.Load, func() string { return "throttle-0 leads" }
	}
}

// A standby shows what there is and decides nothing. It has no view of Ironic, so asks do not wait for one. In mode
// observe it answers them: nothing is refused, whichever process answers.
func TestAStandbyDecidesAndChangesNothing(t *testing.T) {
	var leads atomic.Bool
	f := seen()
	s, observer := made(t, f, standby(&leads)), made(t, f, standby(&leads), func(o *Options) { o.Observe = func() bool { return true } })
	deciding := 0
	for _, r := range everyRoute {
		w, open := send(t, s.api, r.method, r.path, r.body, jsonType...), send(t, made(t, seen()).api, r.method, r.path, r.body, jsonType...)
		observed := send(t, observer.api, r.method, r.path, r.body, jsonType...).Code
		switch ask := r.path == "/v1/isready"; {
		case r.method == "POST" || ask:
			deciding++
			if e := isError(t, w, 503, ""); e.Reason != api.NotLeading || !strings.Contains(e.Message, "throttle-0 leads") {
				t.Errorf("%s %s: %+v", r.method, r.path, e)
			}
			if open.Code != 200 || (observed == 200) != ask {
				t.Errorf("%s %s: %d of a leader, %d in mode observe", r.method, r.path, open.Code, observed)
			}
		case w.Code != open.Code:
			t.Errorf("%s %s: %d, of a leader %d", r.method, r.path, w.Code, open.Code)
		}
	}
	if deciding != 5 || f.asked() != 1 || len(f.changes) > 0 {
		t.Errorf("%d routes decide, asked %d times, changed %q", deciding, f.asked(), f.changes)
	}
	leads.Store(true)
	if w := send(t, s.api, "POST", "/v1/isready", goodAsk, jsonType...); w.Code != 200 {
		t.Errorf("%d after it became the leader", w.Code)
	}
}

func TestReadyz(t *testing.T) {
	fresh, early := api.View{Fresh: true, AgeSeconds: 3}, api.View{AgeSeconds: -1}
	for _, row := range []struct {
		leads, could, observes bool
		view                   api.View
		code                   int
		want                   string
	}{
		{true, false, false, fresh, 200, "ok"},
		{true, false, false, api.View{Fresh: true, AgeSeconds: 9, LastError: "500"}, 200, "ok"},
		{true, true, false, early, 503, "starting: no complete poll of Ironic yet"},
		{true, false, false, api.View{AgeSeconds: -1, LastError: "refused"}, 503, "starting: no complete poll of Ironic yet: refused"},
		{true, false, false, api.View{AgeSeconds: 42.4, LastError: "time-out"}, 503, "stale: the last complete poll of Ironic is 42s old: time-out"},
		{false, false, false, fresh, 503, "standby: throttle-0 leads"},
		{false, true, false, early, 200, "ok, standby: throttle-0 leads"},
		{false, false, true, early, 200, "ok, mode observe refuses nothing; standby: throttle-0 leads"},
		{true, false, true, early, 200, "ok, mode observe refuses nothing; starting: no complete poll of Ironic yet"},
	} {
		var leads atomic.Bool
		leads.Store(row.leads)
		f := seen()
		f.status.View = row.view
		h := made(t, f, standby(&leads), func(o *Options) {
			o.CouldLead, o.Observe = func() bool { return row.could }, func() bool { return row.observes }
		}).health
		if w := send(t, h, "GET", "/readyz", ""); w.Code != row.code || w.Body.String() != row.want+"\n" {
			t.Errorf("%+v: %d %q", row, w.Code, w.Body)
		}
		if w := send(t, h, "GET", "/healthz", ""); w.Code != 200 || w.Body.String() != "ok\n" {
			t.Errorf("healthz: %d %q", w.Code, w.Body)
		}
	}
}
