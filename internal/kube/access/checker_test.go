package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

func TestWhoMayDoWhat(t *testing.T) {
	for _, row := range []struct {
		name, token, path, verb string
		want                    Decision
		tokens, rights          int // reviews
	}{
		{"good token with the right", "good", "/v1/status", "get", manager, 1, 1},
		{"good token, another verb", "good", "/v1/status", "post", barred, 1, 1},
		{"good token, another path", "good", "/v1/holds", "get", barred, 1, 1},
		{"another user", "other", "/v1/status", "get", jane, 1, 1},
		{"bad token", "bad", "/v1/status", "get", nobody, 1, 0},
		{"no token", "", "/v1/status", "get", nobody, 0, 0},
		{"no token by its form", "a b", "/v1/status", "get", nobody, 0, 0},
		{"line in a token", "good\nX: y", "/v1/status", "get", nobody, 0, 0},
		{"only an ending", "==", "/v1/status", "get", nobody, 0, 0},
		{"too long a token", strings.Repeat("x", maxToken+1), "/v1/status", "get", nobody, 0, 0},
		{"long token", strings.Repeat("x", maxToken), "/v1/status", "get", nobody, 1, 0},
		{"token of all letters", "aZ09-._~+/==", "/v1/status", "get", nobody, 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newAPIServer(t)
			c, _ := made(t, s)
			for range 3 { // the second and third from memory
				wants(t, c, row.token, row.path, row.verb, row.want)
			}
			if tokens, rights := s.asked(); tokens != row.tokens || rights != row.rights {
				t.Errorf("%d token reviews, %d of rights; want %d, %d", tokens, rights, row.tokens, row.rights)
			}
		})
	}
}

func TestReviewsSayAllThatIsKnownOfTheUser(t *testing.T) {
	s := newAPIServer(t)
	c, _ := made(t, s, func(o *Options) { o.Audiences = []string{"throttle"} })
	s.set(func() { s.meant = []string{"throttle"} })
	wants(t, c, "good", "/v1/status", "get", manager)
	if diff := cmp.Diff([]authentication.TokenReviewSpec{{Token: "good", Audiences: []string{"throttle"}}}, s.tokens); diff != "" {
		t.Error(diff)
	}
	want := []authorization.SubjectAccessReviewSpec{{
		User: "system:serviceaccount:bmo:manager", UID: "u-1", Groups: []string{"system:serviceaccounts"},
		Extra:                 map[string]authorization.ExtraValue{"pod": {"bmo-0"}},
		NonResourceAttributes: &authorization.NonResourceAttributes{Path: "/v1/status", Verb: "get"},
	}}
	if diff := cmp.Diff(want, s.asks); diff != "" {
		t.Error(diff)
	}
}

func TestADenialBeatsARight(t *testing.T) {
	s := newAPIServer(t)
	s.denied = true
	c, _ := made(t, s)
	wants(t, c, "good", "/v1/status", "get", barred)
}

func TestATokenForOthersIsBad(t *testing.T) {
	for _, meant := range [][]string{nil, {"vault"}} {
		s := newAPIServer(t)
		s.meant = meant
		c, _ := made(t, s, func(o *Options) { o.Audiences = []string{"throttle"} })
		wants(t, c, "good", "/v1/status", "get", nobody)
	}
}

func TestAnswersAreBelievedForAWhile(t *testing.T) {
	s := newAPIServer(t)
	c, at := made(t, s)
	const path, verb = "/v1/status", "get"
	since := func(tokens, rights int) {
		t.Helper()
		if a, b := s.asked(); a != tokens || b != rights {
			t.Errorf("%d token reviews, %d of rights; want %d, %d", a, b, tokens, rights)
		}
	}
	wants(t, c, "good", path, verb, manager)
	wants(t, c, "bad", path, verb, nobody)
	wants(t, c, "good", "/v1/queue", verb, barred)
	since(2, 2)
	s.set(func() {
		s.users["bad"] = s.users["good"]
		s.rights[manager.User+" get /v1/queue"] = true
		delete(s.rights, manager.User+" get /v1/status")
	})
	at.forward(badFor - 1)
	wants(t, c, "bad", path, verb, nobody)
	wants(t, c, "good", "/v1/queue", verb, barred)
	since(2, 2)
	at.forward(1)
	wants(t, c, "good", "/v1/queue", verb, manager)
	wants(t, c, "bad", "/v1/queue", verb, manager)
	since(3, 4)
	at.forward(allowFor - badFor - 1)
	wants(t, c, "good", path, verb, manager)
	since(3, 4)
	at.forward(1)
	wants(t, c, "good", path, verb, barred)
	since(4, 5)
	s.set(func() { delete(s.users, "good") })
	at.forward(goodFor)
	wants(t, c, "good", path, verb, nobody)
	s.set(func() { s.users["good"] = s.users["bad"] })
	wants(t, c, "good", path, verb, nobody)
	at.forward(badFor)
	wants(t, c, "good", "/v1/queue", verb, manager)
}

// Rights of a user end with what they rest on.
func TestRightsOfFormerGroupsAreForgotten(t *testing.T) {
	s := newAPIServer(t)
	c, at := made(t, s)
	wants(t, c, "good", "/v1/queue", "get", barred)
	at.forward(goodFor / 2)
	wants(t, c, "good", "/v1/status", "get", manager) // believed until 30 s after the next review of the token
	s.set(func() {
		user := s.users["good"]
		user.Groups = nil
		s.users["good"] = user
		delete(s.rights, manager.User+" get /v1/status")
	})
	at.forward(goodFor/2 - 1)
	wants(t, c, "good", "/v1/status", "get", manager)
	at.forward(1)
	wants(t, c, "good", "/v1/status", "get", barred)
}

func TestWithoutTheAPIServerNobodyIsLetIn(t *testing.T) {
	var log bytes.Buffer
	s := newAPIServer(t)
	c, at := made(t, s, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	refused := func(token string) {
		t.Helper()
		if d, err := c.Check(t.Context(), home, token, "/v1/status", "get"); d != (Decision{}) || !errors.Is(err, errUnavailable) {
			t.Errorf("%s: %+v, %v", token, d, err)
		}
	}
	for _, code := range []int{http.StatusForbidden, http.StatusUnauthorized, http.StatusInternalServerError, http.StatusNotFound} {
		s.set(func() { s.code = code })
		refused("good")
	}
	s.set(func() { s.code = 0 })
	at.forward(time.Second) // what was refused counted as newcomers
	wants(t, c, "good", "/v1/status", "get", manager)
	// What it said last is believed no longer than usual, whatever happens to it.
	s.set(func() { s.code = http.StatusInternalServerError })
	at.forward(goodFor - 1)
	wants(t, c, "good", "/v1/status", "get", manager)
	at.forward(1)
	refused("good")
	s.set(func() { s.code = 0 })
	wants(t, c, "good", "/v1/status", "get", manager)
	if got := log.String(); strings.Count(got, "level=ERROR") != 2 || strings.Count(got, "answers again") != 2 || strings.Contains(got, "good") {
		t.Errorf("log:\n%s", got)
	}
}

func TestOnlyTheRightIsUnknown(t *testing.T) {
	s := newAPIServer(t)
	c, at := made(t, s)
	wants(t, c, "good", "/v1/status", "get", manager)
	s.Close() // nobody listens any more
	at.forward(goodFor - 1)
	if d, err := c.Check(t.Context(), home, "good", "/v1/queue", "get"); d != (Decision{}) || !errors.Is(err, errUnavailable) {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestWhoGoesAwayWaitsForNothing(t *testing.T) {
	s := newAPIServer(t)
	hold := make(chan struct{})
	s.hold = hold
	c, _ := made(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.Check(ctx, home, "good", "/v1/status", "get")
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(hold)
	wants(t, c, "good", "/v1/status", "get", manager) // the flight landed all the same, or another one
}

func TestOneReviewForAllWhoAskTheSame(t *testing.T) {
	s := newAPIServer(t)
	hold := make(chan struct{})
	s.hold = hold
	c, _ := made(t, s)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { wants(t, c, "good", "/v1/status", "get", manager) })
	}
	close(hold)
	all.Wait()
	if tokens, rights := s.asked(); tokens != 1 || rights != 1 {
		t.Errorf("%d token reviews, %d of rights, want one each", tokens, rights)
	}
}

func TestAFloodOfPathsHoldsUpWhoMakesIt(t *testing.T) {
	s := newAPIServer(t)
	c, at := made(t, s)
	for i := range 3 * rightsBurst {
		_, err := c.Check(t.Context(), home, "other", fmt.Sprintf("/v1/%d", i), "get")
		if want := i >= rightsBurst; errors.Is(err, errBusy) != want {
			t.Fatalf("path %d: %v, want refused: %t", i, err, want)
		}
	}
	wants(t, c, "good", "/v1/status", "get", manager)
	at.forward(time.Second / rightsPerSecond)
	wants(t, c, "other", "/v1/status", "get", jane)
	if tokens, rights := s.asked(); tokens != 2 || rights != rightsBurst+2 {
		t.Errorf("%d token reviews, %d of rights", tokens, rights)
	}
	who, _, _ := c.good.get(at.Now(), sum("other"))
	if n := who.rights.order.Len(); n != maxRights {
		t.Errorf("%d rights are kept", n)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "Config must be set") {
		t.Errorf("%v", err)
	}
	config := &rest.Config{Host: "127.0.0.1", QPS: 7}
	if _, err := New(Options{Config: config}); err != nil || config.QPS != 7 || config.Timeout != 0 {
		t.Errorf("%v; the caller's config is now %+v", err, config)
	}
	if own := bounded(config); own.QPS >= 0 || own.Timeout != reviewTimeout || own.Host != config.Host {
		t.Errorf("asks with %+v", own)
	}
	config.TLSClientConfig.CAFile = "/nowhere"
	if _, err := New(Options{Config: config}); err == nil {
		t.Error("a CA that cannot be read is no error")
	}
}
