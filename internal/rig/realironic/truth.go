package realironic

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Change is a node that is in another state, or has another name, than before.
type Change struct {
	At         time.Time // of the sample that saw it
	UUID, Name string
	State      string // provision_state as the API has it; "" for a node that is gone
}

// Truth is what Ironic's own database says of its nodes, read some ten times a second. Its methods may be called from several
// goroutines.
type Truth struct {
	stop    context.CancelFunc
	sampled sync.WaitGroup

	mu      sync.Mutex
	changes []Change
	last    map[string]Change // by UUID, those that are there
	failed  error             // why the latest sample was none
}

// WatchTruth takes a first sample, and samples until Stop. The caller must call Stop, before the Ironic's.
func (i *Ironic) WatchTruth(ctx context.Context) (*Truth, error) {
	t := &Truth{last: map[string]Change{}}
	if t.sample(ctx, i.SQL); t.failed != nil {
		return nil, t.failed
	}
	ctx, t.stop = context.WithCancel(context.WithoutCancel(ctx))
	t.sampled.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			t.sample(ctx, i.SQL)
		}
	})
	return t, nil
}

// sample reads the nodes, and keeps what has changed.
func (t *Truth) sample(ctx context.Context, sql func(context.Context, string) (string, error)) {
	text, err := sql(ctx, "SELECT uuid, coalesce(name, ''), coalesce(provision_state, 'available') FROM nodes;")
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed = err; err != nil {
		return
	}
	now, seen := time.Now(), map[string]Change{}
	for line := range strings.Lines(text) {
		if row := strings.Split(strings.TrimSuffix(line, "\n"), "|"); len(row) == 3 {
			seen[row[0]] = Change{UUID: row[0], Name: row[1], State: row[2]}
		}
	}
	for uuid, before := range t.last {
		if _, there := seen[uuid]; !there {
			t.changes = append(t.changes, Change{now, uuid, before.Name, ""})
		}
	}
	for uuid, c := range seen {
		if t.last[uuid] != c {
			t.changes = append(t.changes, Change{now, uuid, c.Name, c.State})
		}
	}
	t.last = seen
}

// Changes are all changes until now, in the order of the samples that saw them. The nodes that were there when it began come
// first.
func (t *Truth) Changes() []Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.changes)
}

// Stop ends the sampling.
func (t *Truth) Stop() {
	t.stop()
	t.sampled.Wait()
}
