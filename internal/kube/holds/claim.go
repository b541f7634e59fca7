package holds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// wait tells why Open has to wait, and not the same of each ConfigMap.
type wait struct {
	log  *slog.Logger
	told func(why error) // nil: nobody

	mu   sync.Mutex
	last string // what was told
}

func (w *wait) tell(what string, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if what == w.last {
		return
	}
	w.last = what
	w.log.Warn("the holds in ConfigMaps are not open yet", "why", what, "error", why)
	if w.told != nil {
		w.told(why)
	}
}

// giveWay waits where another process has taken the ledger from one of this pod, and
// nobody else says which of the two shall have it. In a rollout that begins the new pod
// first, the old one is deleted meanwhile; if both took the ledger at once whenever the
// other one has it, both would begin again and again.
func (m *Map) giveWay(ctx context.Context, w *wait) error {
	s := m.shards[0]
	for before := ""; ; {
		newer := ""
		bounded, cancel := context.WithTimeout(ctx, openTimeout)
		err := m.patiently(bounded, s, w, func() error {
			cm, err := s.get(bounded)
			if err == nil {
				newer = s.by.newer(cm.Annotations, before)
			}
			return err
		})
		cancel()
		if err != nil {
			return newFault(m.where, []*shard{s}, []error{err})
		}
		if newer == "" || newer == before {
			return nil
		}
		before = newer
		w.tell("they are left to another process for now",
			fmt.Errorf("holds in ConfigMaps: %s has taken %s from this pod and is left alone for %s; %s", newer, m.where, yield, remedy))
		if !sleep(ctx, yield) {
			return context.Cause(ctx)
		}
	}
}

// claim takes all ConfigMaps over, side by side: what one has is kept while another one
// is asked again.
func (m *Map) claim(ctx context.Context, w *wait) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := make([]found, shards)
	if err := m.each(m.shards, func(s *shard) error {
		err := m.patiently(ctx, s, w, func() (err error) {
			all[s.n], err = s.claim(ctx)
			return err
		})
		if err != nil && !passing(err) {
			cancel() // all the others are of no use
		}
		return err
	}); err != nil {
		return err
	}
	written, unread := 0, 0
	for _, f := range all {
		m.loaded = append(m.loaded, f.records...)
		unread += f.unread
		if f.written {
			written++
		}
	}
	switch {
	case written == 0:
		m.log.Warn("there are no holds in ConfigMaps yet: hosts that have failed before are held from now on", "configMaps", m.where)
	case written < shards:
		m.log.Error("ConfigMaps of holds are missing or were emptied: hosts without a record that have failed are held from now on",
			"configMaps", m.where, "missing", shards-written, "of", shards)
	default:
		m.known = unread == 0
	}
	return nil
}

// patiently does it again while the API server does not answer.
func (m *Map) patiently(ctx context.Context, s *shard, w *wait, do func() error) error {
	for {
		err := do()
		if err == nil || !passing(err) || ctx.Err() != nil {
			return err
		}
		w.tell("they cannot be read yet", newFault(m.where, []*shard{s}, []error{err}))
		if !sleep(ctx, pause) {
			return err
		}
	}
}

// passing tells that the same request may go well later.
func passing(err error) bool {
	if errors.Is(err, ErrNotLeading) {
		return false // nothing is to be waited for in the midst of a claim
	}
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonForbidden, metav1.StatusReasonUnauthorized, metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest,
		metav1.StatusReasonNotFound, metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonMethodNotAllowed:
		return false
	default:
		return true
	}
}

// sleep reports whether d has passed before ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// each does it with some shards side by side. One that fails is no reason not to go on
// with the others.
func (m *Map) each(some []*shard, do func(*shard) error) error {
	errs := make([]error, len(some))
	var all sync.WaitGroup
	for i, s := range some {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return newFault(m.where, some, errs)
}

// newFault names all shards that have an error, and is the error that says most; nil when
// there is none.
func newFault(where string, some []*shard, errs []error) error {
	var names []string
	var worst error
	for i, s := range some {
		if errs[i] == nil {
			continue
		}
		names = append(names, s.name)
		if worst == nil || weight(errs[i]) > weight(worst) {
			worst = errs[i]
		}
	}
	if worst == nil {
		return nil
	}
	help := ""
	if apierrors.IsForbidden(worst) {
		base := strings.TrimSuffix(some[0].name, shardName("", some[0].n))
		help = fmt.Sprintf(" (get, update and create of the ConfigMaps %s to %s are needed)", shardName(base, 0), shardName(base, shards-1))
	}
	return fmt.Errorf("holds in ConfigMaps: %s of %s: %w%s", strings.Join(names, ", "), where, worst, help)
}

// weight is the larger the more an error says of what is to be mended.
func weight(err error) int {
	switch {
	case errors.Is(err, ErrTakenOver):
		return 3
	case !passing(err):
		return 2
	case !errors.Is(err, context.Canceled):
		return 1
	}
	return 0
}
