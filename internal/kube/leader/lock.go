package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/leader/fence"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Bounds of texts, bytes: who holds the Lease, which anybody with a right to Leases may have written, and a fault.
const (
	maxHolder = 300
	maxFault  = 600
)

// errOver tells client-go that nothing is asked for any more.
var errOver = errors.New("the term is over")

// lock is the Lease as client-go's election sees it. It sees the requests and their
// answers: it bounds them, moves the fence, and ends the term when somebody else may
// have led. But for lose it is used by one goroutine at a time.
type lock struct {
	lease    *resourcelock.LeaseLock
	timeout  time.Duration // of one request
	patience time.Duration // with a request that does not end by its time-out
	now      func() time.Time
	log      *slog.Logger
	fence    *fence.Fence
	observed observed

	// asked tells that the Lease may be ours.
	asked bool
	// term is the number of transitions that our term began with; nil before it.
	term *int
	// former is who held the Lease last when we took it.
	former string
	// told are the faults that the log speaks of, by verb.
	told map[string]map[string]bool

	once   sync.Once
	lost   chan struct{} // closed when the term is over
	reason string        // why; set before lost is closed
}

var _ resourcelock.Interface = (*lock)(nil)

func newLock(o Options) (*lock, error) {
	client, err := newClient(o)
	if err != nil {
		return nil, err
	}
	return &lock{
		lease: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
		},
		timeout:  o.requestTimeout(),
		patience: o.RenewDeadline,
		now:      o.Clock,
		log:      o.Log,
		fence:    fence.New(o.RenewDeadline),
		told:     map[string]map[string]bool{},
		lost:     make(chan struct{}),
	}, nil
}

// Get reads the Lease. Within a term, one that is not ours any more ends it.
func (l *lock) Get(ctx context.Context) (record *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	err = l.request(ctx, "get", func(ctx context.Context) (err error) {
		record, raw, err = l.lease.Get(ctx)
		return err
	})
	switch {
	case err == nil:
		l.saw(record.HolderIdentity)
		l.observed.went("create", nil) // nobody asks for that any more
		delete(l.told, "create")
	case apierrors.IsNotFound(err):
		l.saw("")
	}
	if l.term != nil && (err == nil || apierrors.IsNotFound(err)) {
		if why := l.interruption(record); why != "" {
			l.lose(why)
			return nil, nil, errOver
		}
	}
	return record, raw, err
}

// interruption says by what sign somebody else may have led since our term began; nil
// is a Lease that is not there.
func (l *lock) interruption(record *resourcelock.LeaderElectionRecord) string {
	switch {
	case record == nil:
		return "the Lease is gone"
	case record.HolderIdentity == "":
		return "the Lease has no holder"
	case record.HolderIdentity != l.Identity():
		return fmt.Sprintf("the Lease is held by %q", ironic.Line(record.HolderIdentity, maxHolder))
	case record.LeaderTransitions != *l.term:
		return fmt.Sprintf("the Lease has %d transitions, not %d", record.LeaderTransitions, *l.term)
	}
	return ""
}

// Create makes the Lease, ours.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, "create", record, l.lease.Create)
}

// Update takes or renews the Lease.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, "update", record, l.lease.Update)
}

func (l *lock) write(ctx context.Context, verb string, record resourcelock.LeaderElectionRecord,
	do func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	l.asked = true
	record.LeaderTransitions &= math.MaxInt32 // the API server takes no other number: the count begins anew
	sent := l.now()
	err := l.request(ctx, verb, func(ctx context.Context) error { return do(ctx, record) })
	if err != nil {
		return err
	}
	if l.term == nil {
		l.term, l.former = &record.LeaderTransitions, l.observed.former()
	}
	l.fence.Renewed(sent)
	l.saw(l.Identity())
	return nil
}

// request does one request, within its bounds.
func (l *lock) request(ctx context.Context, verb string, do func(context.Context) error) error {
	if l.isLost() {
		return errOver
	}
	if l.term != nil {
		// A plugin for credentials, say, knows nothing of contexts.
		hangs := time.AfterFunc(l.patience, func() {
			l.lose(fmt.Sprintf("a request of the Lease did not end within %s", l.patience))
		})
		defer hangs.Stop()
	}
	bounded, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	err := do(bounded)
	if !errors.Is(ctx.Err(), context.Canceled) { // else it was us who gave it up
		l.tell(verb, err)
	}
	return err
}

// lose ends the term for ever.
func (l *lock) lose(why string) {
	l.once.Do(func() {
		l.fence.End()
		l.reason = why
		close(l.lost)
	})
}

func (l *lock) isLost() bool {
	select {
	case <-l.lost:
		return true
	default:
		return false
	}
}

// release gives the Lease up if it is ours, and reports whether it was.
func (l *lock) release(ctx context.Context) (bool, error) {
	if !l.asked {
		return false, nil
	}
	record, _, err := l.lease.Get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	case record.HolderIdentity != l.Identity():
		return false, nil
	}
	now := metav1.NewTime(l.now())
	return true, l.lease.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
	})
}

func (l *lock) saw(holder string) {
	holder = ironic.Line(holder, maxHolder)
	if l.observed.saw(holder, l.now()) && holder != l.Identity() {
		l.log.Info("the lease is seen", "lease", l.Describe(), "holder", holder)
	}
}

// tell says a fault once, until the verb goes well again.
func (l *lock) tell(verb string, err error) {
	if verb == "get" && apierrors.IsNotFound(err) {
		err = nil // as good an answer as another
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		l.observed.went(verb, nil)
		return // another replica was faster
	}
	l.observed.went(verb, err)
	if err == nil {
		if len(l.told[verb]) > 0 {
			delete(l.told, verb)
			l.log.Info("the API server does again what the election asks for", "lease", l.Describe(), "verb", verb)
		}
		return
	}
	reason := string(apierrors.ReasonForError(err))
	if l.told[verb][reason] {
		return
	}
	if l.told[verb] == nil {
		l.told[verb] = map[string]bool{}
	}
	l.told[verb][reason] = true
	l.log.Warn("the API server does not do what the election asks for; it is asked again and again",
		"lease", l.Describe(), "verb", verb, "error", ironic.Line(err.Error(), maxFault))
}

// RecordEvent is for client-go; we have our own ways to say things.
func (*lock) RecordEvent(string) {}

// Identity is what we write as the holder.
func (l *lock) Identity() string { return l.lease.Identity() }

// Describe names the Lease.
func (l *lock) Describe() string { return l.lease.Describe() }
