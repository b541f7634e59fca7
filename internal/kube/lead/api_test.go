package lead_test

import (
	"bytes"
	"context"
	"encoding/json"
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
	return code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: string(reason),
	}
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
	slow            // it arrives after 3 s, and the answer 3 s later
	late            // it arrives at once, and its answer after 4 s
	refuse          // 403
	broken          // 503
	stuck           // it hangs, and does not end with its context
)

// wire is the way from one replica to the API server.
type wire struct {
	api *api

	mu     sync.Mutex
	is     weather
	only   string        // the method that this holds for; "" = all
	frozen chan struct{} // closed when the replica is no longer paused; nil when it is not
	slept  time.Duration // how long its machine was suspended
}

func (w *wire) set(is weather) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.is, w.only = is, ""
}

// freeze pauses the replica: it sends nothing, takes no answer and reads no clock.
func (w *wire) freeze() (thaw func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	frozen := make(chan struct{})
	w.frozen = frozen
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.frozen = nil
		close(frozen)
	}
}

func (w *wire) isFrozen() chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frozen
}

func (w *wire) whileFrozen() {
	for frozen := w.isFrozen(); frozen != nil; frozen = w.isFrozen() {
		<-frozen
	}
}

func (w *wire) clock() time.Time {
	w.whileFrozen()
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if w.slept > 0 { // the monotonic clock does not know
		now = now.Round(0).Add(w.slept)
	}
	return now
}

// suspend moves the wall clock on, and no timer.
func (w *wire) suspend(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slept += d
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	defer w.whileFrozen()
	w.whileFrozen()
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
	}
	w.mu.Lock()
	is := w.is
	if w.only != "" && w.only != r.Method {
		is = fine
	}
	w.mu.Unlock()
	var code int
	var answer any
	switch is {
	case fine:
		code, answer = w.api.do(r.Method, body)
	case refuse:
		code, answer = failure(http.StatusForbidden, metav1.StatusReasonForbidden)
	case broken:
		code, answer = failure(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	case slow:
		<-time.After(3 * time.Second)
		code, answer = w.api.do(r.Method, body)
		<-time.After(3 * time.Second)
		if r.Context().Err() != nil {
			return nil, r.Context().Err()
		}
	case late:
		code, answer = w.api.do(r.Method, body)
		<-time.After(4 * time.Second)
	case stuck:
		<-time.After(time.Hour)
		return nil, context.DeadlineExceeded
	case deaf:
		_, _ = w.api.do(r.Method, body)
		fallthrough
	default:
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	data, err := json.Marshal(answer)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(data)), Request: r,
	}, err
}

// replica is one that competes.
type replica struct {
	*lead.Elector
	t    *testing.T
	name string
	wire *wire

	stop   context.CancelFunc
	led    chan struct{} // closed when led is called
	gone   chan struct{} // closed when Run has returned
	result error         // what Run has returned

	mu  sync.Mutex
	log bytes.Buffer
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

// join starts a replica on a fine way. led is what it does when it leads; nil waits for the end. It ends with the test.
func (a *api) join(t *testing.T, name string, led func(context.Context) error) *replica {
	t.Helper()
	return a.joinOver(t, &wire{api: a}, name, led)
}

func (a *api) joinOver(t *testing.T, w *wire, name string, led func(context.Context) error) *replica {
	t.Helper()
	r := &replica{t: t, name: name, wire: w, led: make(chan struct{}), gone: make(chan struct{})}
	if led == nil {
		led = func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}
	}
	var err error
	r.Elector, err = lead.New(lead.Options{
		Config:    &rest.Config{Host: "http://api", Transport: r.wire},
		Namespace: "metal3", Name: "ironic-throttle", Identity: name,
		Duration: duration, RenewDeadline: deadline, RetryPeriod: retry,
		Log: slog.New(slog.NewTextHandler(r, nil)), Clock: r.wire.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	t.Cleanup(func() {
		cancel()
		<-r.gone
	})
	go func() {
		defer close(r.gone)
		r.result = r.Run(ctx, func(ctx context.Context) error {
			close(r.led)
			return led(ctx)
		})
	}()
	return r
}

// leave ends the replica and returns what Run has returned.
func (r *replica) leave() error {
	r.t.Helper()
	r.stop()
	<-r.gone
	if r.Leading() {
		r.t.Errorf("%s leads after its end", r.name)
	}
	return r.result
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
	if !within(atMost, r.gone) || r.Leading() || !isLost(r.result) {
		r.t.Fatalf("%s after %s: %v, leading %v: %s", r.name, atMost, r.result, r.Leading(), &r.log)
	}
}
