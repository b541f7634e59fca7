package lead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// maxText bounds a holder and a fault, in bytes: anybody with a right to Leases may have written the holder.
const maxText = 300

// lock is the Lease as client-go's election sees it. It moves the fence with each renewal, and ends the term when
// somebody else may have led: client-go would take a Lease back that another replica had meanwhile, and go on.
type lock struct {
	resourcelock.Interface
	fence    *Fence
	log      *slog.Logger
	now      func() time.Time
	patience time.Duration // with a request that does not end by its time-out
	lost     chan struct{} // closed when the term is over

	mu     sync.Mutex // guards the rest
	state  state
	faults map[string]error // by verb: the election asks in turns, and one verb may work
	term   *int             // transitions that our term started with; nil before it
}

// state is what is known of the Lease.
type state struct {
	Status
	former string // who held it last before us
	asked  bool   // it may be ours
	over   string // why the term is over
}

func newLock(o Options) (*lock, error) {
	c := rest.CopyConfig(o.Config)
	c.Timeout, c.QPS = o.RenewDeadline/2, -1 // a lost packet leaves time for another try
	c.ContentType = runtime.ContentTypeJSON
	// Connections of its own: over HTTP/2 the next request would follow a swallowed one on the same dead connection.
	c.NextProtos = []string{"http/1.1"}
	client, err := coordinationv1.NewForConfig(c)
	if err != nil {
		return nil, err
	}
	return &lock{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}, Client: client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
		},
		fence: NewFence(o.RenewDeadline), log: o.Log, now: o.Clock, patience: o.RenewDeadline,
		lost: make(chan struct{}), faults: map[string]error{},
	}, nil
}

func (l *lock) status() state {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	s.Fault = cmp.Or(l.faults["update"], l.faults["create"], l.faults["get"])
	return s
}

// Get reads the Lease. Within a term, a Lease that is not ours any more ends the term.
func (l *lock) Get(ctx context.Context) (r *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	err = l.request(ctx, "get", func() (err error) {
		r, raw, err = l.Interface.Get(ctx)
		return err
	})
	why := ""
	switch {
	case err == nil:
		why = l.saw(r.HolderIdentity, r.LeaderTransitions)
	case apierrors.IsNotFound(err):
		if l.saw("", 0) != "" {
			why = "the Lease is gone"
		}
	}
	if why != "" {
		l.lose(why)
		return nil, nil, ErrLost
	}
	return r, raw, err
}

// saw notes who holds the Lease, "" = nobody. It tells by what sign somebody else may have led in our term, "" = none.
func (l *lock) saw(holder string, transitions int) (interruption string) {
	now, ours := l.now(), holder == l.Identity()
	holder = ironic.Line(holder, maxText)
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.state
	if s.Since.IsZero() || holder != s.Holder {
		if s.Since = now; !ours {
			l.log.Info("the Lease is seen", "lease", l.Describe(), "holder", holder)
		}
	}
	if s.Seen, s.Holder = now, holder; holder != "" {
		delete(l.faults, "create") // nobody asks for that any more
		if !ours {
			s.former = holder
		}
	}
	switch {
	case l.term != nil && !ours:
		return fmt.Sprintf("the Lease is held by %q", holder)
	case l.term != nil && transitions != *l.term:
		return fmt.Sprintf("the Lease has %d transitions, not %d", transitions, *l.term)
	}
	return ""
}

// Create makes the Lease, ours.
func (l *lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, "create", r.LeaderTransitions, func() error { return l.Interface.Create(ctx, r) })
}

// Update takes or renews the Lease.
func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, "update", r.LeaderTransitions, func() error { return l.Interface.Update(ctx, r) })
}

func (l *lock) write(ctx context.Context, verb string, transitions int, do func() error) error {
	sent := l.now() // before the request: nobody can have seen the renewal earlier
	l.mu.Lock()
	l.state.asked = true
	l.mu.Unlock()
	if err := l.request(ctx, verb, do); err != nil {
		return err
	}
	l.mu.Lock()
	if l.term == nil {
		l.term = &transitions
	}
	l.mu.Unlock()
	l.fence.Renewed(sent)
	l.saw(l.Identity(), transitions)
	return nil
}

// request makes one request.
func (l *lock) request(ctx context.Context, verb string, do func() error) error {
	l.mu.Lock()
	leads := l.term != nil
	l.mu.Unlock()
	if leads { // a plugin for credentials, say, knows nothing of time-outs
		hangs := time.AfterFunc(l.patience, func() { l.lose("a request did not end within " + l.patience.String()) })
		defer hangs.Stop()
	}
	err := do()
	if !errors.Is(ctx.Err(), context.Canceled) { // else we gave it up
		l.note(verb, err)
	}
	return err
}

// note logs a fault of a verb once, and its end.
func (l *lock) note(verb string, err error) {
	if verb == "get" && apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		err = nil // there is no Lease yet, or another replica was faster
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.faults[verb]
	switch delete(l.faults, verb); {
	case err == nil && was != nil:
		l.log.Info("the API server does what the election asks for again", "lease", l.Describe(), "verb", verb)
	case err != nil:
		if l.faults[verb] = err; was == nil {
			l.log.Warn("the API server does not do what the election asks for: trying again",
				"lease", l.Describe(), "verb", verb, "error", ironic.Line(err.Error(), maxText))
		}
	}
}

// lose ends the term for good.
func (l *lock) lose(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.over == "" {
		l.fence.End()
		l.state.over = why
		close(l.lost)
	}
}
