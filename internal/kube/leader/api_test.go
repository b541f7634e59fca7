package leader

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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	duration = 15 * time.Second
	deadline = 10 * time.Second
	retry    = 2 * time.Second
	// longRetry is what client-go makes of retry for those who do not lead.
	longRetry = 22 * retry / 10
)

// api is an API server with one Lease, in memory.
type api struct {
	mu      sync.Mutex
	version int
	lease   *coordinationv1.Lease
}

// do answers one request.
func (a *api) do(method string, body []byte) (int, any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var in coordinationv1.Lease
	if method != http.MethodGet {
		if err := json.Unmarshal(body, &in); err != nil {
			return status(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		}
	}
	switch {
	case method == http.MethodPost && a.lease != nil:
		return status(http.StatusConflict, metav1.StatusReasonAlreadyExists, "there is one")
	case method != http.MethodPost && a.lease == nil:
		return status(http.StatusNotFound, metav1.StatusReasonNotFound, "there is none")
	case method == http.MethodPut && in.ResourceVersion != a.lease.ResourceVersion:
		return status(http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified")
	case method != http.MethodGet:
		a.putLocked(&in)
	}
	return http.StatusOK, a.lease
}

func (a *api) putLocked(l *coordinationv1.Lease) {
	a.version++
	l.ResourceVersion = strconv.Itoa(a.version)
	a.lease = l
}

// edit changes the Lease behind everybody's back; nil deletes it.
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

func (a *api) renewals() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.version
}

func (a *api) holder() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lease == nil || a.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *a.lease.Spec.HolderIdentity
}

func status(code int, reason metav1.StatusReason, message string) (int, any) {
	return code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}
}

// weather is what happens to a request on its way.
type weather int

const (
	fine    weather = iota
	swallow         // it never arrives, and nobody says so
	deaf            // it arrives, its answer does not
	slow            // it arrives after 3 s, and the answer 3 s later, whoever waits for it
	refuse          // 403
	broken          // 503
	stuck           // it hangs, and does not end with its context
)

// wire is the way from one replica to the API server.
type wire struct {
	api *api

	mu     sync.Mutex
	is     weather
	only   string        // the method that this holds for; empty: all
	frozen chan struct{} // closed when the replica is no longer paused; nil when it is not
	slept  time.Duration // for how long its machine was suspended
}

func (w *wire) set(is weather) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.is, w.only = is, ""
}

// freeze pauses the replica: it sends nothing, takes no answer and looks at no clock.
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

func (w *wire) whileFrozen() {
	for {
		w.mu.Lock()
		frozen := w.frozen
		w.mu.Unlock()
		if frozen == nil {
			return
		}
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
		code, answer = status(http.StatusForbidden, metav1.StatusReasonForbidden, "leases is forbidden")
	case broken:
		code, answer = status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "not today")
	case slow:
		<-time.After(3 * time.Second)
		code, answer = w.api.do(r.Method, body)
		<-time.After(3 * time.Second)
		if r.Context().Err() != nil {
			return nil, r.Context().Err()
		}
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
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(data)), Request: r,
	}, nil
}

// replica is one that competes.
type replica struct {
	t    *testing.T
	name string
	wire *wire
	*Elector

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

// String is the log.
func (r *replica) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// said counts the lines of the log that have text.
func (r *replica) said(text string) int { return strings.Count(r.String(), text) }

// join starts a replica. led is what it does when it leads; nil waits for the end. It
// ends with the test.
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
			return ctx.Err()
		}
	}
	var err error
	r.Elector, err = New(Options{
		Config: &rest.Config{
			Host: "http://api", Transport: r.wire, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
		},
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
