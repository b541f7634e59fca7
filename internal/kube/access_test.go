package kube_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
)

var (
	home    = netip.MustParseAddr("192.0.2.1")
	manager = decision{user: "manager", allowed: true}
	barred  = decision{user: "manager"}
	nobody  = decision{}
)

type decision struct {
	user    string
	allowed bool
}

// check asks for the right to get a path.
func (r *reviews) check(ctx context.Context, from netip.Addr, token, path string) (d decision, err error) {
	d.user, d.allowed, err = r.Check(ctx, from, token, path, "get")
	return d, err
}

// reviews is an API server that answers reviews, after a second.
type reviews struct {
	*kube.Checker
	log strings.Builder

	mu             sync.Mutex
	users          map[string]authenticationv1.UserInfo // by token
	rights         map[string]bool                      // by "user group verb path"
	denied         bool                                 // another authorizer objects to everything
	away           error
	tokens, asks   int
	token, subject any // the last ones
}

func (r *reviews) create(ctx context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch o := o.(type) {
	case *authenticationv1.TokenReview:
		r.tokens, r.token = r.tokens+1, o.Spec
		user, known := r.users[o.Spec.Token]
		o.Status = authenticationv1.TokenReviewStatus{Authenticated: known, User: user}
	case *authorizationv1.SubjectAccessReview:
		r.asks, r.subject = r.asks+1, o.Spec
		of := o.Spec.NonResourceAttributes
		o.Status.Allowed, o.Status.Denied = r.rights[strings.Join([]string{o.Spec.User, strings.Join(o.Spec.Groups, ","), of.Verb, of.Path}, " ")], r.denied
	}
	return r.away
}

// checks runs a test in a bubble, on an API server that knows the tokens "good" and "other".
func checks(t *testing.T, test func(*testing.T, *reviews)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &reviews{
			users: map[string]authenticationv1.UserInfo{
				"good":  {Username: "manager", UID: "u-1", Groups: []string{"all"}, Extra: map[string]authenticationv1.ExtraValue{"pod": {"bmo-0"}}},
				"other": {Username: "jane"},
			},
			rights: map[string]bool{"manager all get /v1/status": true},
		}
		c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{Create: r.create}).Build()
		r.Checker = kube.NewChecker(c, slog.New(slog.NewTextHandler(&r.log, nil)))
		test(t, r)
	})
}

// wants demands an answer, and how many reviews of tokens and rights there were in all.
func (r *reviews) wants(t *testing.T, token, path string, want decision, tokens, asks int) {
	t.Helper()
	if got, err := r.check(t.Context(), home, token, path); err != nil || got != want {
		t.Errorf("%s %s: %+v, %v, want %+v", token, path, got, err, want)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tokens != tokens || r.asks != asks {
		t.Errorf("%s %s: %d reviews of tokens and %d of rights, want %d and %d", token, path, r.tokens, r.asks, tokens, asks)
	}
}

func TestAnswersAreBelievedForAWhile(t *testing.T) {
	checks(t, func(t *testing.T, r *reviews) {
		r.wants(t, "", "/v1/status", nobody, 0, 0)
		r.wants(t, strings.Repeat("x", 8<<10+1), "/v1/status", nobody, 0, 0)
		r.wants(t, "good", "/v1/status", manager, 1, 1)
		if s := r.subject.(authorizationv1.SubjectAccessReviewSpec); s.UID != "u-1" || s.Extra["pod"][0] != "bmo-0" || s.ResourceAttributes != nil {
			t.Errorf("%+v", s)
		}
		r.wants(t, "good", "/v1/queue", barred, 1, 2)
		r.wants(t, "bad", "/v1/status", nobody, 2, 2)
		r.users["bad"], r.rights["manager all get /v1/queue"] = r.users["good"], true
		delete(r.rights, "manager all get /v1/status")
		<-time.After(7 * time.Second)
		r.wants(t, "bad", "/v1/status", nobody, 2, 2)
		r.wants(t, "good", "/v1/queue", barred, 2, 2)
		<-time.After(4 * time.Second) // a no is believed for 10 s
		r.wants(t, "good", "/v1/queue", manager, 2, 3)
		r.wants(t, "bad", "/v1/queue", manager, 3, 3) // the same user
		<-time.After(40 * time.Second)
		r.wants(t, "good", "/v1/status", manager, 3, 3)
		<-time.After(time.Minute) // a yes for a minute
		r.wants(t, "good", "/v1/status", barred, 4, 4)
		r.users["again"] = authenticationv1.UserInfo{Username: "manager", UID: "u-1"} // without the group
		r.wants(t, "again", "/v1/queue", barred, 5, 5)
		r.denied = true // another authorizer objects, which goes before a right
		<-time.After(2 * time.Minute)
		r.wants(t, "good", "/v1/queue", barred, 6, 6)
		delete(r.users, "good")
		<-time.After(2 * time.Minute)
		r.wants(t, "good", "/v1/queue", nobody, 7, 6)
	})
}

func TestWithoutTheAPIServerNobodyIsLetIn(t *testing.T) {
	checks(t, func(t *testing.T, r *reviews) {
		r.wants(t, "good", "/v1/status", manager, 1, 1)
		r.away = errors.New("connection refused")
		for second := range 120 {
			<-time.After(time.Second)
			if d, err := r.check(t.Context(), home, "good", "/v1/status"); (err == nil) != (second < 59) || (d == manager) != (err == nil) {
				t.Fatalf("after %d s: %+v, %v", second+1, d, err)
			}
		}
		if n := strings.Count(r.log.String(), "\n"); n == 0 || n > 3 || strings.Contains(r.log.String(), "good") {
			t.Errorf("log:\n%s", r.log.String())
		}
		r.away = nil
		if d, err := r.check(t.Context(), home, "good", "/v1/status"); d != manager || err != nil {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// One who hangs up takes it from nobody, and is no trouble to tell of.
func TestOneReviewForAllWhoAskTheSame(t *testing.T) {
	checks(t, func(t *testing.T, r *reviews) {
		gone, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _, _ = r.check(gone, home, "good", "/v1/status") })
		synctest.Wait()
		for range 50 {
			all.Go(func() {
				if d, err := r.check(t.Context(), home, "good", "/v1/status"); d != manager || err != nil {
					t.Errorf("%+v, %v", d, err)
				}
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		if r.wants(t, "good", "/v1/status", manager, 1, 1); r.log.Len() > 0 {
			t.Errorf("log:\n%s", &r.log)
		}
	})
}

// flood shows n new tokens from each of these addresses at once, and counts those that were not reviewed.
func (r *reviews) flood(t *testing.T, n int, from ...netip.Addr) int {
	t.Helper()
	var all sync.WaitGroup
	var busy atomic.Int64
	for _, a := range from {
		for i := range n {
			all.Go(func() {
				if _, err := r.check(t.Context(), a, fmt.Sprint("bad ", a, i, time.Now()), "/v1/status"); err != nil {
					busy.Add(1)
				}
			})
		}
	}
	all.Wait()
	return int(busy.Load())
}

func TestAFloodHoldsUpNobodyElse(t *testing.T) {
	checks(t, func(t *testing.T, r *reviews) {
		r.wants(t, "good", "/v1/status", manager, 1, 1)
		bad := netip.MustParseAddr("2001:db8::1")
		for second := range 60 {
			want := 98 // two a second
			if second == 0 {
				want = 90 // ten at once
			}
			if busy := r.flood(t, 50, bad, netip.MustParseAddr("2001:db8::ffff:2")); busy != want { // one network
				t.Errorf("second %d: %d of 100 refused, want %d", second, busy, want)
			}
		}
		begun := time.Now()
		if d, err := r.check(t.Context(), bad, "good", "/v1/status"); d != manager || err != nil || time.Since(begun) > 2*time.Second {
			t.Errorf("who was let in before: %+v, %v after %v", d, err, time.Since(begun))
		}
		if d, err := r.check(t.Context(), home, "other", "/v1/status"); d.user != "jane" || err != nil {
			t.Errorf("a newcomer from elsewhere: %+v, %v", d, err)
		}
		var many []netip.Addr
		for i := range 3000 {
			many = append(many, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
		}
		<-time.After(time.Minute)
		before := r.tokens
		if r.flood(t, 1, many...); r.tokens > before+200 { // 100 at once, 50 a second
			t.Errorf("%d reviews of 3000 newcomers", r.tokens-before)
		}
		if d, err := r.check(t.Context(), home, "good", "/v1/status"); d != manager || err != nil {
			t.Errorf("who was good before, in the flood: %+v, %v", d, err)
		}
	})
}
