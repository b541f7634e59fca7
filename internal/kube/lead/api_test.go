package lead_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/lead"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	duration  = 15 * time.Second
	deadline  = 10 * time.Second
	retry     = time.Second
	longRetry = 22 * retry / 10 // what client-go makes of retry for standbys
)

// api is an API server with one Lease, in memory.
type api struct {
	mu      sync.Mutex
	version int
	lease   *coordinationv1.Lease
}

func (a *api) do(method string, body []byte) (int, any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	in := &coordinationv1.Lease{}
	_ = json.Unmarshal(body, in) // a GET has none
	switch {
	case method == http.MethodPost && a.lease != nil:
		return failure(http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case method != http.MethodPost && a.lease == nil:
		return failure(http.StatusNotFound, metav1.StatusReasonNotFound)
	case method == http.MethodPut && in.ResourceVersion != a.lease.ResourceVersion:
		return failure(http.StatusConflict, metav1.StatusReasonConflict)
	case method != http.MethodGet:
		a.putLocked(in)
	}
	return http.StatusOK, a.lease
}

func failure(code int, reason metav1.StatusReason) (int, any) {
	return code, metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: string(reason)}
}

func (a *api) putLocked(l *coordinationv1.Lease) {
	a.version++
	l.ResourceVersion = strconv.Itoa(a.version)
	a.lease = l
}

// edit changes the Lease as somebody else would; nil deletes it.
func (a *api) edit(change func(*coordinationv1.Lease)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if change == nil {
		a.lease = nil
		return
	}
	l := a.lease.DeepCopy()
	change(l)
	a.putLocked(l)
}

func (a *api) holder() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lease == nil || a.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *a.lease.Spec.HolderIdentity
}

// weather is what happens to a request on its way.
type weather int

const (
	fine    weather = iota
	swallow         // it never arrives, and nobody says so
	deaf            // it arrives, its answer does not
	late            // it arrives at once, and its answer after 4 s
	refuse          // 403
)

// replica is one that competes, with its way to the API server.
type replica struct {
	*lead.Elector
	t    *testing.T
	name string
	api  *api

	stop   context.CancelFunc
	led    chan struct{} // closed when led is called
	gone   chan struct{} // closed when Run has returned
	result error         // what Run has returned

	mu     sync.Mutex
	log    strings.Builder
	is     weather
	only   string        // the method that this holds for; "" = all
	frozen chan struct{} // closed when the replica is no longer paused; nil when it is not
}

func (r *replica) set(is weather, only string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.is, r.only = is, only
}

// freeze pauses the replica: it sends nothing, takes no answer and reads no clock.
func (r *replica) freeze() (thaw func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	frozen := make(chan struct{})
	r.frozen = frozen
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.frozen = nil
		close(frozen)
	}
}

func (r *replica) isFrozen() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.frozen
}

func (r *replica) whileFrozen() {
	for frozen := r.isFrozen(); frozen != nil; frozen = r.isFrozen() {
		<-frozen
	}
}

// RoundTrip implements http.RoundTripper.
func (r *replica) RoundTrip(q *http.Request) (*http.Response, error) {
	defer r.whileFrozen()
	r.whileFrozen()
	var body []byte
	if q.Body != nil {
		body, _ = io.ReadAll(q.Body)
		_ = q.Body.Close()
	}
	r.mu.Lock()
	is := r.is
	if r.only != "" && r.only != q.Method {
		is = fine
	}
	r.mu.Unlock()
	if is == refuse {
		return answer(failure(http.StatusForbidden, metav1.StatusReasonForbidden))
	}
	if is == swallow {
		<-q.Context().Done()
		return nil, q.Context().Err()
	}
	code, found := r.api.do(q.Method, body)
	if is == deaf {
		<-q.Context().Done()
		return nil, q.Context().Err()
	}
	if is == late {
		<-time.After(4 * time.Second)
	}
	return answer(code, found)
}

func answer(code int, found any) (*http.Response, error) {
	data, err := json.Marshal(found)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(data)),
	}, err
}

func (r *replica) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(p)
}

// said counts text in the log.
func (r *replica) said(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(r.log.String(), text)
}

// join starts a replica. led is what it does when it leads; nil waits for the end. It ends with the test.
func (a *api) join(t *testing.T, name string, led func(context.Context) error) *replica {
	t.Helper()
	r := &replica{t: t, name: name, api: a, led: make(chan struct{}), gone: make(chan struct{})}
	if led == nil {
		led = func(ctx context.Context) error { <-ctx.Done(); return nil }
	}
	var err error
	r.Elector, err = lead.New(lead.Options{
		Config: &rest.Config{Host: "http://api", Transport: r}, Namespace: "metal3", Name: "ironic-throttle", Identity: name,
		Duration: duration, RenewDeadline: deadline, RetryPeriod: retry, Log: slog.New(slog.NewTextHandler(r, nil)),
		Clock: func() time.Time { r.whileFrozen(); return time.Now() },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	t.Cleanup(func() { cancel(); <-r.gone })
	go func() {
		defer close(r.gone)
		r.result = r.Run(ctx, func(ctx context.Context) error { close(r.led); return led(ctx) })
	}()
	return r
}

// within reports whether c is closed within d.
func within(d time.Duration, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-time.After(d):
		return false
	}
}

// leads waits until r leads.
func (r *replica) leads(atMost time.Duration) {
	r.t.Helper()
	if !within(atMost, r.led) || !r.Leading() {
		r.t.Fatalf("%s does not lead after %s: %s", r.name, atMost, &r.log)
	}
}

// loses waits until r's Run ends with ErrLost.
func (r *replica) loses(atMost time.Duration) {
	r.t.Helper()
	if !within(atMost, r.gone) || r.Leading() || !errors.Is(r.result, lead.ErrLost) || r.said("leads no more") != 1 {
		r.t.Fatalf("%s after %s: %v, leading %v: %s", r.name, atMost, r.result, r.Leading(), &r.log)
	}
}
