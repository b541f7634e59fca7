package gateway

import (
	"net/http"
	"testing"
	"time"

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
		play(t, options{limit: 1, gate: func(o *Options) {
			o.Base = mustURL(t, "http://ironic"+row.prefix)
			o.Transport = always(row.status)
		}}, func(s *stage) {
			r := request(row.method, row.target, "")
			r.Header.Set("X-Auth-Token", "one")
			s.do(r).want(row.status)
			if got := s.gate.access.has(time.Now(), credentialsOf(r.Header)); got != row.learnt {
				t.Errorf("%s %s%s, %d: learnt %v", row.method, row.prefix, row.target, row.status, got)
			}
			r.Header.Set("X-Auth-Token", "two")
			if s.gate.access.has(time.Now(), credentialsOf(r.Header)) {
				t.Error("learnt about others")
			}
		})
	}
}

// always is an Ironic with one answer.
type always int

func (a always) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(a), Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// A public answer is no ticket: what follows it is looked at anew.
func TestGW12_APublicAnswerLetsNobodyIn(t *testing.T) {
	basic := func(o *fakeironic.Options) { o.API.Username, o.API.Password = "admin", "secret" }
	play(t, options{limit: 1, nodes: 1, fake: basic}, func(s *stage) {
		for _, path := range []string{"/", "/v1", "/v1/", "/v1/lookup?addresses=aa:bb:cc:dd:ee:ff"} {
			r := request(http.MethodGet, path, "")
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
