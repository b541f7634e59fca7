package realironic

import (
	"bytes"
	"context"
	_ "embed" // the sampler
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// truthGap is the shortest state that a Truth must not miss.
const truthGap = 500 * time.Millisecond

// truthPy is the sampler.
//
//go:embed truth.py
var truthPy string

// Change is a node that is in another state, or has another name, than before.
type Change struct {
	At         time.Time // of the sample that saw it
	UUID, Name string
	State      string // provision_state as the API has it; "" for a node that is gone
}

// Truth is what Ironic's own database says of its nodes, read every 50 ms by a process of
// its own. Its methods may be called from several goroutines.
type Truth struct {
	sampler *child.Process
	first   chan struct{} // closed by the first sample
	stop    sync.Once
	result  error

	mu       sync.Mutex
	rest     []byte // the beginning of a line
	changes  []Change
	began    time.Time // the latest sample
	samples  int
	worst    time.Duration
	failures []string // what the sampler said besides, the first few
}

// WatchTruth starts to sample, and returns when the first sample was taken; ctx bounds
// that wait only. The caller must call Stop, before the Ironic's.
func (i *Ironic) WatchTruth(ctx context.Context) (*Truth, error) {
	return watch(ctx, i.place, truthPy)
}

func watch(ctx context.Context, p place, script string) (*Truth, error) {
	t := &Truth{first: make(chan struct{})}
	var err error
	kind := "sqlite"
	if p.mariadb {
		kind = "mariadb"
	}
	t.sampler, err = p.start(child.Command{Name: "python3", Args: []string{"-I", "-c", script, kind, p.database()}, Log: t})
	if err != nil {
		return nil, fmt.Errorf("watch Ironic's database: %w", err)
	}
	select {
	case <-t.first:
		return t, nil
	case <-t.sampler.Done():
		err = errors.New("the sampler has ended")
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, fmt.Errorf("watch Ironic's database: %w", errors.Join(err, t.Stop()))
}

// Write takes what the sampler prints. It is not for others.
func (t *Truth) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rest = append(t.rest, text...)
	for {
		line, rest, whole := bytes.Cut(t.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		t.takeLocked(line)
		t.rest = slices.Clone(rest)
	}
}

func (t *Truth) takeLocked(line []byte) {
	var sample struct {
		Began, Ended float64
		Changes      [][3]string
		Error        string
	}
	if err := json.Unmarshal(line, &sample); err != nil {
		sample.Error = string(line)
	}
	if sample.Error != "" {
		if len(t.failures) < 10 {
			t.failures = append(t.failures, sample.Error)
		}
		return
	}
	ended := unix(sample.Ended)
	for _, c := range sample.Changes {
		t.changes = append(t.changes, Change{At: ended, UUID: c[0], Name: c[1], State: c[2]})
	}
	t.gapLocked(ended)
	t.began = unix(sample.Began)
	if t.samples++; t.samples == 1 {
		close(t.first)
	}
}

// gapLocked counts a gap that ends now: nobody knows when in its time a sample looked.
func (t *Truth) gapLocked(now time.Time) {
	if t.samples > 0 {
		t.worst = max(t.worst, now.Sub(t.began))
	}
}

func unix(seconds float64) time.Time {
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9))
}

// Changes are all changes until now, in the order of the samples that saw them. The nodes
// that were there when it began come first.
func (t *Truth) Changes() []Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.changes)
}

// WorstGap is the longest time, until the last sample or Stop, in which nobody looked: a
// state that was shorter may have been missed, a longer one was not.
func (t *Truth) WorstGap() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.worst
}

// Stop ends the sampling. Its error tells that a state of half a second may have been
// missed, and why. A second call returns the same.
func (t *Truth) Stop() error {
	t.stop.Do(func() {
		ended := time.Now()
		dead := !t.sampler.Running()
		t.sampler.Kill()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.gapLocked(ended)
		var why error
		if len(t.failures) > 0 {
			why = fmt.Errorf("the sampler said %q", t.failures)
		}
		switch {
		case dead:
			t.result = errors.Join(errors.New("truth: the sampler ended by itself"), why)
		case t.samples == 0:
			t.result = errors.Join(errors.New("truth: no sample was taken"), why)
		case t.worst >= truthGap:
			t.result = errors.Join(fmt.Errorf("truth: nobody looked for %s: a state that lasts %s may have been missed", t.worst, truthGap), why)
		}
	})
	return t.result
}
