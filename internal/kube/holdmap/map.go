package holdmap

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// ErrTakenOver tells that another process writes the ledger now: this one must not any
// more.
var ErrTakenOver = errors.New("another process writes the holds")

// errNotLeading tells that Options.Leading said no. That may pass: it is not
// ErrTakenOver.
var errNotLeading = errors.New("nothing is written while this process does not lead")

// Map is the ledger, a holdoff.Store. It may be used by several goroutines.
type Map struct {
	log   *slog.Logger
	where string // namespace/name, for people
	ctx   context.Context
	close context.CancelFunc

	mu     sync.Mutex
	shards []*shard
	loaded []holdoff.Record
	known  bool
	over   error     // why nothing is written any more; nil while it is
	due    time.Time // when the next Save may write
}

var _ holdoff.Store = (*Map)(nil)

// Open takes the ledger over and reads it. The caller must lead: whoever had it open
// before can save no more. ConfigMaps that are missing are made.
//
// An API server that does not answer is asked again for 30 s. Open fails after that, when
// ctx ends, without the rights, and at once where Options.Leading says no. Records that
// cannot be read are no failure: they are kept aside and told in the log.
func Open(ctx context.Context, o Options) (*Map, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("holds in ConfigMaps: %w", err)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	config := rest.CopyConfig(o.Config)
	config.Timeout = 0 // each request has a context that ends
	config.QPS, config.Burst = 2*shards, 4*shards
	api, err := client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("holds in ConfigMaps: %w", err)
	}
	leading := o.Leading
	if leading == nil {
		leading = func() bool { return true }
	}
	m := &Map{log: log, where: o.Namespace + "/" + o.Name}
	writer := rand.Text()
	for n := range shards {
		m.shards = append(m.shards, &shard{
			n: n, name: shardName(o.Name, n), api: api.ConfigMaps(o.Namespace), writer: writer, leading: leading, log: log, room: maxData,
		})
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := m.claim(ctx); err != nil {
		return nil, err
	}
	m.ctx, m.close = context.WithCancel(context.WithoutCancel(ctx))
	return m, nil
}

// claim takes all ConfigMaps over.
func (m *Map) claim(ctx context.Context) error {
	written, unread := 0, 0
	for _, s := range m.shards {
		f, err := m.claimOne(ctx, s)
		if err != nil {
			return m.fault(s, err)
		}
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

// claimOne asks again while the API server does not answer.
func (m *Map) claimOne(ctx context.Context, s *shard) (found, error) {
	said := false
	for {
		f, err := s.claim(ctx)
		if err == nil || !passing(err) {
			return f, err
		}
		if !said {
			said = true
			m.log.Warn("the holds in ConfigMaps cannot be read yet", "configMap", s.name, "error", err)
		}
		if !sleep(ctx, pause) {
			return found{}, err
		}
	}
}

// passing tells that the same request may go well later.
func passing(err error) bool {
	if errors.Is(err, errNotLeading) {
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

func (m *Map) fault(s *shard, err error) error {
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w (get, update and create of the ConfigMaps %s to %s are needed)",
			err, m.shards[0].name, m.shards[shards-1].name)
	}
	return fmt.Errorf("holds in ConfigMaps: %s of %s: %w", s.name, m.where, err)
}

// Load returns the records that Open has found. known tells that these are all that
// there were.
func (m *Map) Load() (records []holdoff.Record, known bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return nil, false, fs.ErrClosed
	}
	records, m.loaded = m.loaded, nil
	return records, m.known, nil
}

// Save keeps b: it writes the ConfigMaps that have changed. When it returns nil, the API
// server has all of b, but for what has no room there, which the log says; else some of
// it, and it may be given again. It begins to write at most once a second, and waits for
// that, and takes at most ten seconds more.
//
// After ErrTakenOver nothing is written any more. While Options.Leading says no it fails
// with another error, and may be tried again.
func (m *Map) Save(b holdoff.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return fmt.Errorf("holds in ConfigMaps: %s: %w", m.where, fs.ErrClosed)
	}
	if m.over != nil {
		return m.over
	}
	if err := m.enterLocked(b); err != nil {
		return fmt.Errorf("holds in ConfigMaps: %w", err)
	}
	return m.saveLocked()
}

// enterLocked puts b where the next write takes it from.
func (m *Map) enterLocked(b holdoff.Batch) error {
	lines := make([][]byte, len(b.Puts))
	for i, r := range b.Puts {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("record of %s: %w", r.UUID, err)
		}
		lines[i] = line
	}
	for i, r := range b.Puts {
		s := m.shards[shardOf(r.UUID)]
		if !bytes.Equal(s.values[r.UUID], lines[i]) {
			s.values[r.UUID], s.dirty = lines[i], true
		}
	}
	for _, uuid := range b.Deletes {
		s := m.shards[shardOf(uuid)]
		if s.values[uuid] != nil {
			delete(s.values, uuid)
			s.dirty = true
		}
	}
	return nil
}

func (m *Map) saveLocked() error {
	var dirty []*shard
	for _, s := range m.shards {
		if s.dirty {
			dirty = append(dirty, s)
		}
	}
	if len(dirty) == 0 {
		return nil
	}
	if wait := time.Until(m.due); wait > 0 && !sleep(m.ctx, wait) {
		return fmt.Errorf("holds in ConfigMaps: %s: %w", m.where, fs.ErrClosed)
	}
	m.due = time.Now().Add(pause)
	ctx, cancel := context.WithTimeout(m.ctx, saveTimeout)
	defer cancel()
	for _, s := range dirty {
		if err := s.save(ctx); err != nil {
			err = m.fault(s, err)
			if errors.Is(err, ErrTakenOver) {
				m.over = err
			}
			return err
		}
	}
	return nil
}

// Close ends the use of the ledger, and a Save that waits. Twice is harmless.
func (m *Map) Close() error {
	m.close()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shards, m.loaded = nil, nil
	return nil
}
