// Package lead lets one of several replicas lead, by a Lease of Kubernetes.
//
// The election is client-go's. The throttle needs a fence besides: a replica that was paused does not know that time
// has passed, and another one may lead by now. So it may answer yes only while Leading is true, by its own clocks:
//
//	   sent          confirmed
//	────┬───────────────┬───────────────────────────────────▶ time
//	    │◀────────── RenewDeadline ──────────▶│ Leading is false
//	    │◀────────────────── Duration ───────────────────▶│ others may take the Lease
//
// A term starts with the first renewal. It ends for good (ErrLost) when the API server confirms no renewal within
// RenewDeadline, and when the Lease is gone or shows another holder, no holder or another number of transitions:
// another replica may have led meanwhile. A pause between two requests in which nobody took the Lease ends no term.
//
// It needs these rights in the namespace of the Lease: get and update the Lease by name, create leases (RBAC cannot
// bind that to a name), and patch pods.
package lead

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// ErrLost says that the term is over. The process that led must end.
var ErrLost = errors.New("the lease is lost")

// Options are what New needs. All fields are required.
type Options struct {
	Config          *rest.Config
	Namespace, Name string // of the Lease; Run creates it if it does not exist
	// Identity is the holder that Run writes. No other process may ever use it, not even an earlier one of the same pod.
	Identity string
	// Duration is how long others leave a Lease alone that nobody renews, in whole seconds. RenewDeadline, which is
	// shorter, is how long a replica may answer yes after a renewal. RetryPeriod is the pause between two renewals.
	// Standbys read the Lease at least every 2.2 RetryPeriods.
	Duration, RenewDeadline, RetryPeriod time.Duration
	Log                                  *slog.Logger
	Clock                                func() time.Time // of the fence
}

// Elector competes for a Lease, once. Its methods are safe for concurrent use.
type Elector struct {
	o     Options
	lease resourcelock.Interface
	fence *Fence
	lost  chan struct{} // closed when the term is over

	mu      sync.Mutex // guards the rest
	status  Status
	failed  string      // the verb of the fault: client-go reads and writes in turn, and only one may fail
	renewed metav1.Time // the last renewal that we saw in the Lease
	term    *int        // the number of transitions in our term; nil before it
	over    string      // why our term is over; "": it is not
}

// New returns an Elector that has sent nothing yet.
func New(o Options) (*Elector, error) {
	c := rest.CopyConfig(o.Config)
	c.Timeout, c.QPS = o.RenewDeadline/2, -1 // a lost packet leaves time for another try
	c.ContentType = runtime.ContentTypeJSON
	// Own connections: over HTTP/2, the next request would use the same dead connection as a lost one.
	c.NextProtos = []string{"http/1.1"}
	client, err := coordinationv1.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return &Elector{
		o: o, fence: NewFence(o.RenewDeadline), lost: make(chan struct{}), status: Status{Identity: o.Identity},
		lease: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}, Client: client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
		},
	}, nil
}

// Leading reports whether this replica may answer yes now. Call it directly before what two replicas must not both do.
func (e *Elector) Leading() bool { return e.fence.Passes(e.o.Clock()) }

// Run competes for the Lease until ctx ends. When this replica leads, Run calls led, once. led's ctx ends with ctx or
// with the term. Run renews the Lease until led has returned, and then releases it, so that another replica takes it
// when it next looks. Run returns led's error, joined with ErrLost if the term was over before led returned.
func (e *Elector) Run(ctx context.Context, led func(context.Context) error) error {
	begun, over := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock{e.lease, e}, Name: e.o.Name,
		LeaseDuration: e.o.Duration, RenewDeadline: e.o.RenewDeadline, RetryPeriod: e.o.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(begun) },
			OnStoppedLeading: func() {},
		}, // no ReleaseOnCancel: client-go reads the Lease first, even after the deadline
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	elect, stop := context.WithCancel(logr.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	defer stop()
	go func() {
		defer close(over)
		elector.Run(elect) // returns when the API server has confirmed no renewal within RenewDeadline
	}()
	select {
	case <-ctx.Done():
	case <-begun:
		err = e.lead(ctx, led, over)
	}
	e.fence.End()
	stop()
	<-over
	e.release(context.WithoutCancel(ctx))
	return err
}

// lead runs led until it returns, or the term is over.
func (e *Elector) lead(ctx context.Context, led func(context.Context) error, over <-chan struct{}) (err error) {
	term, end := context.WithCancelCause(ctx)
	defer end(nil)
	log := e.o.Log.With("lease", e.lease.Describe())
	log.Info("this replica leads", "identity", e.o.Identity)
	result := make(chan error, 1)
	go func() { result <- led(term) }()
	select {
	case err = <-result:
		return err
	case <-over:
		e.lose("no renewal was confirmed within " + e.o.RenewDeadline.String())
	case <-e.lost:
	}
	lost := fmt.Errorf("%w: %s", ErrLost, e.over)
	log.Error("this replica no longer leads: its process ends", "error", lost)
	end(lost)
	if err = <-result; err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrLost) {
		return lost
	}
	return errors.Join(lost, err)
}

func (e *Elector) lose(why string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over == "" {
		e.fence.End()
		e.over = why
		close(e.lost)
	}
}

// releaseTimeout bounds the release: an API server that hangs must not hold up the end of the process.
const releaseTimeout = 3 * time.Second

// release gives the Lease up if our term has ended in order.
func (e *Elector) release(ctx context.Context) {
	if e.term == nil || e.over != "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	r, _, err := e.lease.Get(ctx)
	if err == nil && r.HolderIdentity == e.o.Identity {
		now := metav1.NewTime(e.o.Clock())
		err = e.lease.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions: r.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
		})
	}
	if err != nil {
		e.o.Log.Warn("this replica cannot release the Lease: another one takes it when it has run out",
			"lease", e.lease.Describe(), "duration", e.o.Duration, "error", err)
	}
}

// Status is what is known of the election.
type Status struct {
	Leading  bool // Elector.Leading
	Identity string
	Holder   string    // as last seen, as one short line; "": nobody, or not seen yet
	Former   string    // the last other holder that we saw; "": none
	Seen     time.Time // when we last read or renewed the Lease
	Fault    error     // why the last request failed; that another replica was faster is no fault
}

// Status returns what is known of the election.
func (e *Elector) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.status
	s.Leading = e.Leading()
	return s
}

// CouldLead reports whether this replica stands by and would take the Lease if it became free: it has read the Lease
// within its duration, and its requests do not fail.
func (e *Elector) CouldLead() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &e.status
	return e.over == "" && s.Fault == nil && s.Holder != s.Identity &&
		!s.Seen.IsZero() && elapsed(s.Seen, e.o.Clock()) <= e.o.Duration
}

// Standby says who leads instead of us. The text stays the same while nothing changes.
func (s Status) Standby() string {
	switch {
	case s.Fault != nil && s.Holder == "":
		return "no replica leads, as far as is known: " + ironic.Line(s.Fault.Error(), maxText)
	case s.Fault != nil:
		return fmt.Sprintf("%s led when the Lease was seen last, at %s; since then: %s",
			s.Holder, s.Seen.UTC().Format(time.RFC3339), ironic.Line(s.Fault.Error(), maxText))
	case s.Holder == "":
		return "no replica leads yet"
	case s.Holder == s.Identity:
		return "it no longer leads: its Lease could not be renewed in time"
	}
	return s.Holder + " leads"
}
