// Package lead lets one of several replicas lead, by a Lease of Kubernetes.
//
// The election is client-go's. A throttle needs a fence besides: a replica that was paused does not know that time
// has passed, and another one may lead by now. So a yes may be said only while Leading is true, by our own clocks:
//
//	   sent          confirmed
//	────┬───────────────┬───────────────────────────────────▶ time
//	    │◀────────── RenewDeadline ──────────▶│ Leading is false
//	    │◀────────────────── Duration ───────────────────▶│ others may take the Lease
//
// A term starts with the first renewal and ends for good (ErrLost) when no renewal was confirmed within the renew
// deadline, and as soon as the Lease shows another holder, nobody, another number of transitions, or is gone:
// somebody else may have led meanwhile. A pause between two requests in which nobody took the Lease ends nothing.
//
// Rights, in the namespace of the Lease: get and update of the one Lease by name, create of leases (RBAC cannot bind
// it to a name), and patch of pods.
package lead

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// ErrLost tells that the term is over. The process that led must end.
var ErrLost = errors.New("the lease is lost")

// Options say what to compete for. All fields are required.
type Options struct {
	Config          *rest.Config
	Namespace, Name string // of the Lease; it is created where there is none
	// Identity is written as the holder. No other process may ever have the same, nor an earlier one of the same pod.
	Identity string
	// Duration is how long others keep away from a Lease that is not renewed, in whole seconds.
	Duration time.Duration
	// RenewDeadline is how long a yes may be said after a renewal. It is less than Duration, as clocks differ in speed.
	RenewDeadline time.Duration
	// RetryPeriod is the pause between two renewals; standbys look at the Lease at least every 2.2 RetryPeriods.
	RetryPeriod time.Duration
	Log         *slog.Logger
	Clock       func() time.Time // of the fence
}

// Elector competes for a Lease, once. Its methods are safe for concurrent use.
type Elector struct {
	opts Options
	lock *lock
}

// New returns an Elector that has sent nothing yet.
func New(o Options) (*Elector, error) {
	l, err := newLock(o)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return &Elector{opts: o, lock: l}, nil
}

// Leading reports whether a yes may be said now. Ask directly before what two replicas must not do.
func (e *Elector) Leading() bool { return e.lock.fence.Passes(e.opts.Clock()) }

// Former is the identity of the last holder before us, as far as we saw one; "" = none.
func (e *Elector) Former() string { return e.lock.status().former }

// CouldLead reports whether this replica stands by and would take the Lease if it came free: it has read the Lease
// within its duration, and none of its requests fails.
func (e *Elector) CouldLead() bool {
	s := e.lock.status()
	return s.over == "" && s.Fault == nil && s.Holder != e.opts.Identity &&
		!s.Seen.IsZero() && elapsed(s.Seen, e.opts.Clock()) <= e.opts.Duration
}

// Run competes for the Lease until ctx ends. It calls led once, when this replica leads. led's ctx ends with ctx or
// with the term; the Lease is renewed until led has returned, and then released: another replica takes it when it next
// looks. Run returns led's error, and ErrLost, joined with that, when the term was over before ctx.
func (e *Elector) Run(ctx context.Context, led func(context.Context) error) error {
	begun, over := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: e.lock, Name: e.opts.Name,
		LeaseDuration: e.opts.Duration, RenewDeadline: e.opts.RenewDeadline, RetryPeriod: e.opts.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(begun) },
			OnStoppedLeading: func() {},
		}, // not ReleaseOnCancel: client-go reads the Lease first, also after the deadline
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	elect, stop := context.WithCancel(logr.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	defer stop()
	go func() {
		defer close(over)
		elector.Run(elect) // until no renewal was confirmed within RenewDeadline
	}()
	select {
	case <-ctx.Done():
	case <-begun:
		err = e.lead(ctx, led, over)
	}
	e.lock.fence.End()
	stop()
	late := time.NewTimer(e.opts.RenewDeadline) // a request need not end with its context
	defer late.Stop()
	select {
	case <-e.lock.lost:
	case <-late.C:
	case <-over:
		e.release(context.WithoutCancel(ctx))
	}
	return err
}

// lead runs led until it returns, or the term is over.
func (e *Elector) lead(ctx context.Context, led func(context.Context) error, over <-chan struct{}) (err error) {
	term, end := context.WithCancelCause(ctx)
	defer end(nil)
	e.opts.Log.Info("this replica leads", "lease", e.lock.Describe(), "identity", e.opts.Identity)
	result := make(chan error, 1)
	go func() { result <- led(term) }()
	select {
	case err = <-result:
		return err
	case <-over:
		e.lock.lose("no renewal was confirmed within " + e.opts.RenewDeadline.String())
	case <-e.lock.lost:
	}
	lost := fmt.Errorf("%w: %s", ErrLost, e.lock.status().over)
	e.opts.Log.Error("this replica leads no more: its process ends", "lease", e.lock.Describe(), "error", lost)
	end(lost)
	err = <-result
	switch {
	case ctx.Err() != nil: // it was to end anyway
		return err
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, ErrLost):
		return lost
	}
	return errors.Join(lost, err)
}

// release gives the Lease up where it is ours.
func (e *Elector) release(ctx context.Context) {
	if s := e.lock.status(); s.over != "" || !s.asked {
		return
	}
	r, _, err := e.lock.Interface.Get(ctx)
	if err == nil && r.HolderIdentity == e.opts.Identity {
		now := metav1.NewTime(e.opts.Clock())
		err = e.lock.Interface.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions: r.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
		})
	}
	if err != nil {
		e.opts.Log.Warn("the Lease cannot be released: another replica takes it when it has run out",
			"lease", e.lock.Describe(), "duration", e.opts.Duration, "error", err)
	}
}

// Status is what is known of the election, for people.
type Status struct {
	Leading  bool // as of Elector.Leading
	Identity string
	Holder   string    // as last seen, cut to a line; "" = nobody, or nothing was seen yet
	Since    time.Time // when this holder was first seen
	Seen     time.Time // when the Lease was read or renewed last
	Fault    error     // of the latest request of a kind; that another replica was faster is none
}

// Status returns what is known of the election.
func (e *Elector) Status() Status {
	s := e.lock.status().Status
	s.Leading, s.Identity = e.Leading(), e.opts.Identity
	return s
}

// Standby tells who leads instead of us. Its times stay the same while nothing changes.
func (s Status) Standby() string {
	switch {
	case s.Fault != nil && s.Holder == "":
		return "nobody leads, as far as is known: " + ironic.Line(s.Fault.Error(), maxText)
	case s.Fault != nil:
		return fmt.Sprintf("%s led when the Lease was seen last, at %s; since then: %s",
			s.Holder, s.Seen.UTC().Format("15:04:05Z"), ironic.Line(s.Fault.Error(), maxText))
	case s.Holder == "":
		return "nobody leads yet"
	case s.Holder == s.Identity:
		return "it leads no more: its Lease could not be renewed in time"
	}
	return s.Holder + " leads"
}
