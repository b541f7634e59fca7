package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/leader/fence"
)

// ErrLost tells that the term is over. Whoever led must end its process and begin anew.
var ErrLost = errors.New("the lease is lost")

// errTwice tells that Run was called again.
var errTwice = errors.New("leader: an Elector runs once")

// Elector competes for a Lease, once. Its methods may be called by several goroutines.
type Elector struct {
	opts Options
	lock *lock
	ran  atomic.Bool
}

// New returns an Elector that has not begun. Its error names every field of o that is
// wrong.
func New(o Options) (*Elector, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	l, err := newLock(o)
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return &Elector{opts: o, lock: l}, nil
}

// Leading reports whether a yes may be said now: led runs, the term goes on, and the
// latest renewal that the API server has confirmed was sent less than RenewDeadline ago
// by our own clocks. Ask directly before what must not be done by two.
func (e *Elector) Leading() bool { return e.lock.fence.Passes(e.opts.Clock()) }

// Status returns what is known of the election.
func (e *Elector) Status() Status {
	s := Status{Leading: e.Leading(), Identity: e.opts.Identity}
	e.lock.observed.enter(&s)
	return s
}

// Former is the identity of who held the Lease last when we took it, as far as we have seen;
// "" = nobody did. Only led may ask.
func (e *Elector) Former() string { return e.lock.former }

// Campaigns reports whether this replica would take the Lease if it came free: it stands
// by, has read the Lease within its duration, and nothing that it asks for fails.
func (e *Elector) Campaigns() bool {
	s := e.Status()
	return !e.lock.isLost() && s.Err == nil && s.Holder != s.Identity &&
		!s.Seen.IsZero() && fence.Elapsed(s.Seen, e.opts.Clock()) <= e.opts.Duration
}

// Run competes for the Lease until ctx ends and leads when it has it. An API server that
// does not answer, or refuses, is told in the log and asked again.
//
// led is called at most once, when the Lease is ours. Its ctx ends with ctx, or with the
// term (the cause is ErrLost then). Run waits for it and goes on renewing meanwhile: the
// Lease is given up when led has returned, so that nobody of us says yes any more when
// another one takes it, which it then does when it next reads the Lease. After the term's end
// nothing is asked of the API server any more.
//
// It returns nil when ctx has ended, ErrLost when the term is over, and led's error in
// any case but that of an ended context. It may be called once.
func (e *Elector) Run(ctx context.Context, led func(ctx context.Context) error) error {
	if e.ran.Swap(true) {
		return errTwice
	}
	begun, ended := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: e.lock, Name: e.opts.Name,
		LeaseDuration: e.opts.Duration, RenewDeadline: e.opts.RenewDeadline, RetryPeriod: e.opts.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(begun) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	// The election outlives ctx: the Lease is renewed until led has returned. What is
	// worth a line, lock says.
	elect, stop := context.WithCancel(logr.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	defer stop()
	go func() {
		defer close(ended)
		elector.Run(elect)
	}()
	select {
	case <-begun:
		err = e.lead(ctx, led, stop, ended)
	case <-ctx.Done():
	}
	e.lock.fence.End()
	stop()
	late := time.NewTimer(e.opts.RenewDeadline)
	defer late.Stop()
	select {
	case <-e.lock.lost:
		return err
	case <-late.C: // a request does not end with its context
		return err
	case <-ended:
	}
	if !e.lock.isLost() { // else it is another's, or runs out
		e.release(ctx)
	}
	return err
}

// lead runs led and watches over the term. stop ends the election, and ended tells that
// it has ended.
func (e *Elector) lead(ctx context.Context, led func(context.Context) error, stop func(), ended <-chan struct{}) error {
	ledCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.lock.fence.Begin()
	e.opts.Log.Info("this replica leads", "lease", e.lock.Describe(), "identity", e.opts.Identity)
	result := make(chan error, 1)
	go func() { result <- led(ledCtx) }()
	select {
	case err := <-result:
		if ctx.Err() == nil {
			return err // it ended by itself, whatever it says
		}
		return unlessCanceled(err)
	case <-e.lock.lost:
	case <-ended:
		e.lock.lose(fmt.Sprintf("no renewal was confirmed within the renew deadline, %s", e.opts.RenewDeadline))
	}
	stop()
	lost := fmt.Errorf("%w: %s", ErrLost, e.lock.reason)
	e.opts.Log.Error("this replica leads no more: its process ends", "lease", e.lock.Describe(), "reason", e.lock.reason)
	cancel(lost)
	err := unlessCanceled(<-result)
	if ctx.Err() != nil || errors.Is(err, ErrLost) {
		return err // it was to end anyway, or says so itself
	}
	return errors.Join(lost, err)
}

// unlessCanceled is err, or nil where that only tells that led's context has ended.
func unlessCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// release gives the Lease up where it is ours, also when ctx has ended.
func (e *Elector) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.opts.requestTimeout())
	defer cancel()
	released, err := e.lock.release(ctx)
	switch {
	case err != nil:
		e.opts.Log.Warn("the lease cannot be given up: another replica takes it when it has run out",
			"lease", e.lock.Describe(), "duration", e.opts.Duration, "error", err)
	case released:
		e.opts.Log.Info("the lease is given up", "lease", e.lock.Describe())
	}
}
