package gateway_test

import (
	"net/http"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Credentials are believed in only after an answer that Ironic gives nobody else: about
// nodes, by a path that no reading leads elsewhere.
func TestGW12_AccessIsLearntFromNodesAlone(t *testing.T) {
	for _, row := range []struct {
		prefix, method, target string
		status                 int
		learnt                 bool
	}{
		{"", "GET", "/v1/nodes", 200, true},
		{"", "GET", "/v1/nodes?fields=uuid", 200, true},
		{"", "GET", "/v1/nodes/", 200, true},
		{"", "GET", "/v1/nodes/detail", 200, true},
		{"", "GET", "/v1/nodes/x/states", 200, true},
		{"/bare/metal", "GET", "/v1/nodes/x", 200, true},
		{"/bare%2Fmetal", "GET", "/v1/nodes/x", 200, true},

		{"", "GET", "/v1/nodes", 401, false},
		{"", "GET", "/v1/nodes/x", 404, false},
		{"", "GET", "/v1/nodes", 204, false},
		{"", "HEAD", "/v1/nodes", 200, false},
		{"", "OPTIONS", "/v1/nodes", 200, false},
		{"", "POST", "/v1/nodes", 200, false},
		{"", "GET", "/", 200, false},
		{"", "GET", "/v1", 200, false},
		{"", "GET", "/v1/", 200, false},
		{"", "GET", "/v1/nodesque", 200, false},
		{"", "GET", "/v1/lookup", 200, false},
		{"", "GET", "/v1/heartbeat/v1/nodes", 200, false},
		{"", "GET", "/v1/lookup?x=/v1/nodes", 200, false},
		{"", "GET", "//v1/nodes", 200, false},
		{"", "GET", "/v2/v1/nodes", 200, false},
		{"", "GET", "/v1/nodes/..", 200, false},
		{"", "GET", "/v1/nodes/../lookup", 200, false},
		{"", "GET", "/v1/nodes/%2e%2e/lookup", 200, false},
		{"", "GET", "/v1/nodes/.%2E/lookup", 200, false},
		{"", "GET", "/v1/nodes/..%2flookup", 200, false},
		{"", "GET", "/v1/nodes/x/../../lookup", 200, false},
		{"/bare", "GET", "/lookup/v1/nodes", 200, false},
		{"/bare", "GET", "/../v1/nodes", 200, false},
		{"/v1/nodes", "GET", "/", 200, false},
		{"/v1/nodes", "GET", "/lookup", 200, false},
	} {
		play(t, options{limit: 1, nodes: 1, gate: func(o *gateway.Options) {
			o.Base = mustURL(t, "http://ironic"+row.prefix)
			o.Transport = always(row.status)
		}}, func(s *stage) {
			ask := func(token string) {
				r := newRequest(row.method, row.target, "")
				r.Header.Set("X-Auth-Token", token)
				s.do(r).want(row.status)
			}
			ask("one")
			if got := s.known("X-Auth-Token", "one"); got != row.learnt {
				t.Errorf("%s %s%s, %d: learnt %v", row.method, row.prefix, row.target, row.status, got)
			}
			if ask("one"); s.known("X-Auth-Token", "two") {
				t.Error("learnt about others")
			}
		})
	}
}

// always is an Ironic with one answer; it lets nobody in who is asked about.
type always int

func (a always) RoundTrip(r *http.Request) (*http.Response, error) {
	status := int(a)
	if r.Header.Get("Via") == "" { // it is the gateway's own question
		status = http.StatusForbidden
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// theKnock is the query by which the gateway asks whether Ironic lets a client in.
const theKnock = "fields=uuid"

// known reports whether a PUT with that header is not asked about.
func (s *stage) known(name, value string) bool {
	r := putRequest(s.uuids[0], ironic.TargetActive)
	r.Header.Set(name, value)
	switch got := s.do(r); got.Code {
	case http.StatusForbidden, http.StatusUnauthorized: // Ironic's own no
		return false
	}
	return true
}

// A public answer is no ticket: what follows it is looked at anew.
func TestGW12_APublicAnswerLetsNobodyIn(t *testing.T) {
	basic := func(o *fakeironic.Options) { o.API.Username, o.API.Password = "admin", "secret" }
	play(t, options{limit: 1, nodes: 1, fake: basic}, func(s *stage) {
		for _, path := range []string{"/", "/v1", "/v1/", "/v1/lookup?addresses=aa:bb:cc:dd:ee:ff"} {
			r := newRequest(http.MethodGet, path, "")
			r.SetBasicAuth("admin", "wrong")
			s.do(r)
			r = putRequest(s.uuids[0], ironic.TargetActive)
			r.SetBasicAuth("admin", "wrong")
			s.do(r).want(http.StatusUnauthorized)
		}
		if puts, _ := s.wire.sent(); puts != 0 {
			t.Errorf("%d PUTs reached Ironic", puts)
		}
	})
}
