package holds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/bound"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// ErrTakenOver tells that another process writes the ledger now: this one must not any
// more.
var ErrTakenOver = errors.New("another process writes the holds")

// ErrNotLeading tells that Options.Leading said no. That may pass: it is not
// ErrTakenOver.
var ErrNotLeading = errors.New("nothing is written while this process does not lead")

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
	next   int       // the shard that the next Look looks at
}

var _ holdoff.Store = (*Map)(nil)

// Open takes the ledger over and reads it. The caller must lead: whoever had it open
// before can save no more. ConfigMaps that are missing are made.
//
// An API server that does not answer is asked again for 30 s. Open fails after that, when
// ctx ends, without the rights, and at once where Options.Leading says no. Records that
// cannot be read are no failure: they are kept aside and told in the log. Without
// Options.Leading, and where another process has taken the ledger from one of this pod,
// that one is left alone for three minutes first.
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
	config.QPS = -1    // there is one Save a second; a limiter would only garble errors
	bound.Answers(config, maxAnswer)
	api, err := client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("holds in ConfigMaps: %w", err)
	}
	m := &Map{log: log, where: o.Namespace + "/" + o.Name}
	by := newWriter(o)
	for n := range shards {
		m.shards = append(m.shards, &shard{n: n, name: shardName(o.Name, n), api: api.ConfigMaps(o.Namespace), by: by, log: log, room: maxData})
	}
	w := &wait{log: log, told: o.Waiting}
	if o.Leading == nil && o.Identity != "" {
		if err := m.giveWay(ctx, w); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := m.claim(ctx, w); err != nil {
		return nil, err
	}
	m.ctx, m.close = context.WithCancel(context.WithoutCancel(ctx))
	return m, nil
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

// Save keeps b: it writes the ConfigMaps that have changed, side by side. When it returns
// nil, the API server has all of b, but for what has no room there, which the log says;
// else what belongs into those that the error does not name, and it may be given again. It
// begins to write at most once a second, and waits for
// that, and takes at most ten seconds more.
//
// After ErrTakenOver nothing is written any more. While Options.Leading says no it fails
// with another error, and may be tried again.
func (m *Map) Save(b holdoff.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.openLocked(); err != nil {
		return err
	}
	if err := m.enterLocked(b); err != nil {
		return fmt.Errorf("holds in ConfigMaps: %w", err)
	}
	return m.saveLocked()
}

// openLocked tells why nothing can be written any more.
func (m *Map) openLocked() error {
	if m.ctx.Err() != nil {
		return fmt.Errorf("holds in ConfigMaps: %s: %w", m.where, fs.ErrClosed)
	}
	return m.over
}

// enterLocked puts b where the next write takes it from.
func (m *Map) enterLocked(b holdoff.Batch) error {
	lines, err := b.Lines()
	if err != nil {
		return err
	}
	for uuid, line := range lines {
		if s := m.shards[shardOf(uuid)]; !bytes.Equal(s.lines[uuid], line) {
			s.lines[uuid], s.dirty = line, true
		}
	}
	for _, uuid := range b.Deletes {
		if s := m.shards[shardOf(uuid)]; s.lines[uuid] != nil {
			delete(s.lines, uuid)
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
	return m.writeLocked(dirty)
}

// writeLocked writes some, not more often than once a second.
func (m *Map) writeLocked(some []*shard) error {
	if len(some) == 0 {
		return nil
	}
	if wait := time.Until(m.due); wait > 0 && !sleep(m.ctx, wait) {
		return fmt.Errorf("holds in ConfigMaps: %s: %w", m.where, fs.ErrClosed)
	}
	m.due = time.Now().Add(pause)
	ctx, cancel := context.WithTimeout(m.ctx, saveTimeout)
	defer cancel()
	return m.overLocked(m.each(some, func(s *shard) error { return s.save(ctx) }))
}

// overLocked is err, after which nothing is written any more if it is ErrTakenOver.
func (m *Map) overLocked(err error) error {
	if errors.Is(err, ErrTakenOver) {
		m.over = err
	}
	return err
}

// Look looks at one of the ConfigMaps, each time at the next one, and writes it anew when
// somebody else has changed it. It is to be called every few seconds: a Save does not see
// ConfigMaps in which nothing is new. It fails with ErrTakenOver, and as long as it
// cannot write what it should; that it cannot look is no failure.
func (m *Map) Look() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil || m.over != nil {
		return m.over
	}
	s := m.shards[m.next]
	m.next = (m.next + 1) % shards
	if !s.dirty && s.by.leading() {
		if err := s.look(m.ctx); errors.Is(err, ErrTakenOver) {
			return m.overLocked(newFault(m.where, []*shard{s}, []error{err}))
		}
	}
	return m.saveLocked()
}

// Close ends the use of the ledger, and a Save that waits. Twice is harmless.
func (m *Map) Close() error {
	m.close()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shards, m.loaded = nil, nil
	return nil
}
