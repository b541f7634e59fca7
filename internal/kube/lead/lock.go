package lead

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// maxText bounds a holder and a fault, in bytes: whoever may write Leases can write any holder.
const maxText = 300

// lock is the Lease as client-go's election sees it. It opens the fence with each renewal, and ends the term when
// another replica may have led: client-go would take back a Lease that another replica had meanwhile, and go on.
type lock struct {
	resourcelock.Interface
	*Elector
}

// Get reads the Lease. Within a term, a Lease that is no longer ours ends the term.
func (l lock) Get(ctx context.Context) (r *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	r, raw, err = l.Interface.Get(ctx)
	l.note(ctx, "get", err)
	seen := r
	if apierrors.IsNotFound(err) {
		seen = &resourcelock.LeaderElectionRecord{}
	}
	if seen != nil && l.saw(seen) {
		return nil, nil, ErrLost
	}
	return r, raw, err
}

// saw notes who holds the Lease. It reports whether another replica may have led within our term, and then ends it.
func (l lock) saw(r *resourcelock.LeaderElectionRecord) (lost bool) {
	ours := r.HolderIdentity == l.o.Identity
	l.mu.Lock()
	s := &l.status
	s.Seen, s.Holder = l.o.Clock(), ironic.Line(r.HolderIdentity, maxText)
	if !ours && s.Holder != "" && s.Holder != s.Former {
		s.Former = s.Holder
		l.o.Log.Info("another replica holds the Lease", "lease", l.Describe(), "holder", s.Holder)
	}
	if !ours && !r.RenewTime.Equal(&l.renewed) {
		s.Fault = nil // of a write: another replica was faster
	}
	l.renewed = r.RenewTime
	lost = l.term != nil && (!ours || r.LeaderTransitions != *l.term)
	l.mu.Unlock()
	if lost {
		l.lose(fmt.Sprintf("the Lease is held by %q and has %d transitions", r.HolderIdentity, r.LeaderTransitions))
	}
	return lost
}

// Create creates the Lease, with us as the holder.
func (l lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, "create", r, l.Interface.Create)
}

// Update takes or renews the Lease.
func (l lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, "update", r, l.Interface.Update)
}

func (l lock) write(ctx context.Context, verb string, r resourcelock.LeaderElectionRecord,
	do func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	sent := l.o.Clock() // before the request: nobody can see the renewal earlier
	err := do(ctx, r)
	if l.note(ctx, verb, err); err != nil {
		return err
	}
	l.mu.Lock()
	if l.term == nil {
		l.term = &r.LeaderTransitions
	}
	l.mu.Unlock()
	l.fence.Renewed(sent)
	l.saw(&r)
	return nil
}

// note keeps the fault of a request. It logs the first failure, and the next success.
func (l lock) note(ctx context.Context, verb string, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return // Run ended the request
	}
	if verb == "get" && apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		err = nil // there is no Lease yet, or another replica was faster
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	log, was := l.o.Log.With("lease", l.Describe(), "verb", verb), l.status.Fault
	switch {
	case err != nil:
		if l.failed, l.status.Fault = verb, err; was == nil {
			log.Warn("a request of the election fails: trying again", "error", ironic.Line(err.Error(), maxText))
		}
	case was != nil && (verb != "get" || l.failed == "get"):
		l.status.Fault = nil
		log.Info("the requests of the election succeed again")
	}
}
