package access

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apiserver answers reviews.
type apiserver struct {
	*httptest.Server

	mu     sync.Mutex
	users  map[string]authentication.UserInfo // by token
	rights map[string]bool                    // by "user verb path"
	denied bool                               // some other authorizer objects to everything
	meant  []string                           // audiences of its answers
	code   int                                // of all answers; 0 = as usual
	hold   chan struct{}                      // answers wait until it is closed; nil: they do not
	tokens []authentication.TokenReviewSpec
	asks   []authorization.SubjectAccessReviewSpec
}

func newAPIServer(t *testing.T) *apiserver {
	t.Helper()
	s := &apiserver{
		users: map[string]authentication.UserInfo{
			"good":  {Username: "system:serviceaccount:bmo:manager", UID: "u-1", Groups: []string{"system:serviceaccounts"}, Extra: map[string]authentication.ExtraValue{"pod": {"bmo-0"}}},
			"other": {Username: "jane"},
		},
		rights: map[string]bool{"system:serviceaccount:bmo:manager get /v1/status": true},
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *apiserver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.code != 0 {
		w.WriteHeader(s.code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	switch r.Method + " " + r.URL.Path {
	case "POST /apis/authentication.k8s.io/v1/tokenreviews":
		var review authentication.TokenReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		s.tokens = append(s.tokens, review.Spec)
		user, known := s.users[review.Spec.Token]
		review.Status = authentication.TokenReviewStatus{Authenticated: known, User: user, Audiences: s.meant}
		if !known {
			review.Status.Error = "invalid bearer token " + review.Spec.Token
		}
		_ = json.NewEncoder(w).Encode(review)
	case "POST /apis/authorization.k8s.io/v1/subjectaccessreviews":
		var review authorization.SubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		s.asks = append(s.asks, review.Spec)
		of := review.Spec.NonResourceAttributes
		review.Status.Allowed = s.rights[strings.Join([]string{review.Spec.User, of.Verb, of.Path}, " ")]
		review.Status.Denied = s.denied
		_ = json.NewEncoder(w).Encode(review)
	}
}

// set changes s while it serves.
func (s *apiserver) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// asked counts the reviews so far.
func (s *apiserver) asked() (tokens, rights int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tokens), len(s.asks)
}

// clock is a clock that tests turn.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// made is a Checker that asks s, with its clock.
func made(t *testing.T, s *apiserver, change ...func(*Options)) (*Checker, *clock) {
	t.Helper()
	at := &clock{now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	o := Options{Config: &rest.Config{Host: s.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, Now: at.Now}
	for _, c := range change {
		c(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c, at
}

// wants checks one request.
func wants(t *testing.T, c *Checker, token, path, verb string, want Decision) {
	t.Helper()
	if got, err := c.Check(t.Context(), home, token, path, verb); got != want || err != nil {
		t.Errorf("%s %s: %+v, %v; want %+v", verb, path, got, err, want)
	}
}

// home is where a token comes from when that does not matter.
var home = netip.MustParseAddr("192.0.2.1")

// What the tokens of the test come to.
var (
	nobody  = Decision{}
	manager = Decision{User: "system:serviceaccount:bmo:manager", Known: true, Allowed: true}
	barred  = Decision{User: "system:serviceaccount:bmo:manager", Known: true}
	jane    = Decision{User: "jane", Known: true}
)
