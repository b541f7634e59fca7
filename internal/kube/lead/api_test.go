package lead

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	duration = 15 * time.Second
	deadline = 10 * time.Second
	retry    = time.Second
)

// api is an API server with one Lease, in memory.
type api struct {
	mu      sync.Mutex
	version int
	lease   *resourcelock.LeaderElectionRecord
}

// edit changes the Lease as somebody else would; nil deletes it.
func (a *api) edit(change func(*resourcelock.LeaderElectionRecord)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.version++; change == nil {
		a.lease = nil
	} else {
		change(a.lease)
	}
}

func (a *api) holder() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lease == nil {
		return ""
	}
	return a.lease.HolderIdentity
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
	*Elector
	resourcelock.Interface
	t    *testing.T
	name string
	api  *api
	seen int // version of the Lease

	stop   context.CancelFunc
	led    chan struct{} // closed when led is called
	gone   chan struct{} // closed when Run has returned
	result error         // what Run has returned

	mu     sync.Mutex
	log    strings.Builder
	is     weather
	frozen chan struct{} // closed when the replica is no longer paused; nil when it is not
}

func (r *replica) with(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
}

func (r *replica) set(is weather) { r.with(func() { r.is = is }) }

// freeze pauses the replica: it sends nothing, takes no answer and reads no clock.
func (r *replica) freeze() (thaw func()) {
	frozen := make(chan struct{})
	r.with(func() { r.frozen = frozen })
	return func() { r.with(func() { r.frozen = nil; close(frozen) }) }
}

func (r *replica) isFrozen() (frozen chan struct{}) {
	r.with(func() { frozen = r.frozen })
	return frozen
}

func (r *replica) whileFrozen() {
	for frozen := r.isFrozen(); frozen != nil; frozen = r.isFrozen() {
		<-frozen
	}
}

var leases = schema.GroupResource{Resource: "leases"}

// request lets the API server do something, as the weather is.
func (r *replica) request(ctx context.Context, do func() error) error {
	r.whileFrozen()
	defer r.whileFrozen()
	ctx, cancel := context.WithTimeout(ctx, deadline/2) // as the real client has it
	defer cancel()
	is := fine
	r.with(func() { is = r.is })
	if is == refuse {
		return apierrors.NewForbidden(leases, "lease", errors.New("because of a test"))
	}
	if is == swallow {
		<-ctx.Done()
		return ctx.Err()
	}
	r.api.mu.Lock()
	err := do()
	r.api.mu.Unlock()
	if is == late {
		<-time.After(4 * time.Second)
	}
	if is == deaf {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (r *replica) Get(ctx context.Context) (l *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	version := 0
	err = r.request(ctx, func() error {
		if r.api.lease == nil {
			return apierrors.NewNotFound(leases, "lease")
		}
		found := *r.api.lease
		l, version = &found, r.api.version
		raw, err = json.Marshal(found)
		return err
	})
	if err == nil {
		r.seen = version
	}
	return l, raw, err
}

func (r *replica) Create(ctx context.Context, l resourcelock.LeaderElectionRecord) error {
	return r.put(ctx, l, func() bool { return r.api.lease == nil })
}

func (r *replica) Update(ctx context.Context, l resourcelock.LeaderElectionRecord) error {
	return r.put(ctx, l, func() bool { return r.api.lease != nil && r.seen == r.api.version })
}

func (r *replica) put(ctx context.Context, l resourcelock.LeaderElectionRecord, may func() bool) error {
	version := 0
	err := r.request(ctx, func() error {
		if !may() {
			return apierrors.NewConflict(leases, "lease", errors.New("another one was faster"))
		}
		r.api.version++
		r.api.lease, version = &l, r.api.version
		return nil
	})
	if err == nil {
		r.seen = version
	}
	return err
}

func (r *replica) Write(p []byte) (n int, err error) {
	r.with(func() { n, err = r.log.Write(p) })
	return n, err
}

// join starts a replica, which saves for a moment at the end of its term. It ends with the test.
func (a *api) join(t *testing.T, name string) *replica {
	t.Helper()
	r := &replica{t: t, name: name, api: a, led: make(chan struct{}), gone: make(chan struct{})}
	var err error
	r.Elector, err = New(Options{
		Config: &rest.Config{Host: "http://nowhere"}, Namespace: "metal3", Name: "ironic-throttle", Identity: name,
		Duration: duration, RenewDeadline: deadline, RetryPeriod: retry, Log: slog.New(slog.NewTextHandler(r, nil)),
		Clock: func() time.Time { r.whileFrozen(); return time.Now() },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Interface, r.lease = r.lease, r
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	t.Cleanup(func() { cancel(); <-r.gone })
	go func() {
		defer close(r.gone)
		r.result = r.Run(ctx, func(term context.Context) error {
			close(r.led)
			<-term.Done()
			<-time.After(time.Second / 2)
			if holder := a.holder(); !errors.Is(context.Cause(term), ErrLost) && holder != name {
				t.Errorf("%q holds the Lease while %s saves", holder, name)
			}
			return nil
		})
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
