package leader

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// lockOver returns the lock of a, whose requests take the way.
func lockOver(t *testing.T, way http.RoundTripper, clock func() time.Time) *lock {
	t.Helper()
	e, err := New(Options{
		Config:    &rest.Config{Host: "http://api", Transport: way, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
		Namespace: "metal3", Name: "ironic-throttle", Identity: "a",
		Duration: duration, RenewDeadline: deadline, RetryPeriod: retry, Clock: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e.lock
}

// ours is what the election writes.
func ours() resourcelock.LeaderElectionRecord {
	now := metav1.Now()
	return resourcelock.LeaderElectionRecord{HolderIdentity: "a", LeaseDurationSeconds: 15, RenewTime: now, AcquireTime: now}
}

// Others may have seen a renewal as soon as it was sent, however late its answer comes.
func TestLH27_ARenewalCountsFromWhenItWasSent(t *testing.T) {
	const late = 4 * time.Second
	var server api
	now := time.Now()
	l := lockOver(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := (&wire{api: &server}).RoundTrip(r)
		now = now.Add(late)
		return resp, err
	}), func() time.Time { return now })
	l.fence.Begin()
	for _, write := range []func(context.Context, resourcelock.LeaderElectionRecord) error{l.Create, l.Update} {
		sent := now
		if err := write(t.Context(), ours()); err != nil {
			t.Fatal(err)
		}
		if !l.fence.Passes(now) || !l.fence.Passes(sent.Add(deadline-1)) {
			t.Error("a renewal does not count")
		}
		if l.fence.Passes(sent.Add(deadline)) {
			t.Error("a renewal counts from its answer")
		}
	}
}

// A request is sent once, and what went wrong with it is what is told: not that a client
// had tried again by itself, or had waited for its turn.
func TestRequestsAreSentOnce(t *testing.T) {
	overloaded := func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}, "Content-Type": {"text/plain"}},
			Body: io.NopCloser(strings.NewReader("later")), Request: r,
		}, nil
	}
	for _, row := range []struct {
		name, want string
		way        roundTrip
	}{
		{"overload", "later", overloaded},
		{"broken off", "EOF", func(*http.Request) (*http.Response, error) { return nil, io.EOF }},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var server api
				sent, way := 0, roundTrip((&wire{api: &server}).RoundTrip)
				l := lockOver(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					sent++
					return way(r)
				}), time.Now)
				if err := l.Create(t.Context(), ours()); err != nil {
					t.Fatal(err)
				}
				way, sent = row.way, 0
				begun := time.Now()
				const times = 50
				for range times {
					_, _, err := l.Get(t.Context())
					err = errors.Join(err, l.Update(t.Context(), ours()))
					if n := strings.Count(err.Error(), row.want); n < 2 || strings.Contains(err.Error(), "attempt") {
						t.Fatalf("%v, want %s", err, row.want)
					}
				}
				if took := time.Since(begun); sent != 2*times || took != 0 {
					t.Errorf("%d requests were sent in %v, want %d at once", sent, took, 2*times)
				}
			})
		})
	}
}

// Who was seen to lead, and when, is told while the API server is away.
func TestSeenIsWhenTheLeaseWasReadLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.join(t, "a", nil)
		a.leads(time.Second)
		b := server.join(t, "b", nil)
		<-time.After(time.Minute)
		if got := b.Status(); time.Since(got.Seen) > longRetry || got.Seen.Equal(got.Since) {
			t.Errorf("%+v", got)
		}
		b.wire.set(broken)
		<-time.After(longRetry)
		before := b.Status()
		<-time.After(time.Hour)
		if got := b.Status(); got.Err == nil || got.Holder != "a" || !got.Seen.Equal(before.Seen) || time.Since(got.Seen) < time.Hour {
			t.Errorf("%+v", got)
		}
		_, _ = a.leave(), b.leave()
	})
}

// TestLH27_TheCountOfTransitionsBeginsAnew where the API server would not take one more: else nobody ever led again.
func TestLH27_TheCountOfTransitionsBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server api
		a := server.join(t, "a", nil)
		a.leads(time.Second)
		_ = a.leave()
		server.edit(func(l *coordinationv1.Lease) { *l.Spec.LeaseTransitions = math.MaxInt32 })
		b := server.join(t, "b", nil)
		b.leads(time.Minute)
		<-time.After(time.Minute)
		server.mu.Lock()
		n := *server.lease.Spec.LeaseTransitions
		server.mu.Unlock()
		if n != 0 || !b.Leading() {
			t.Errorf("leads: %v, with %d transitions", b.Leading(), n)
		}
		_ = b.leave()
	})
}

// counts tells how much of a body is read.
type counts struct {
	io.Reader
	read int
}

func (c *counts) Read(p []byte) (n int, err error) {
	n, err = c.Reader.Read(p)
	c.read += n
	return n, err
}

func TestAnAnswerIsBounded(t *testing.T) {
	body := &counts{Reader: strings.NewReader(strings.Repeat(" ", 4*maxAnswer))}
	l := lockOver(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body), Request: r}, nil
	}), time.Now)
	if _, _, err := l.Get(t.Context()); err == nil || body.read > 2*maxAnswer {
		t.Errorf("%d bytes are read: %v", body.read, err)
	}
}
