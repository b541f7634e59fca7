//go:build e2e

package bmo

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// change is a node that is in another state, or has another name, than before.
type change struct {
	at         time.Time // of the sample that saw it
	uuid, name string
	state      string // provision_state as the API has it; "" for a node that is gone
}

// truth is what Ironic's own database says of its nodes, read some ten times a second.
type truth struct {
	mu      sync.Mutex
	changes []change
	last    map[string]change // by UUID, those that are there
}

// watch samples the truth until the test ends.
func (s *storm) watch() {
	s.Helper()
	if err := s.sample(s.Context()); err != nil {
		s.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(s.Context()))
	var sampled sync.WaitGroup
	sampled.Go(func() {
		for ctx.Err() == nil {
			<-time.After(50 * time.Millisecond)
			_ = s.sample(ctx) // one that fails changes nothing
		}
	})
	s.Cleanup(func() { stop(); sampled.Wait() })
}

// sample reads the nodes, and keeps what has changed.
func (s *storm) sample(ctx context.Context) error {
	text, err := s.ironic.SQL(ctx, "SELECT uuid, coalesce(name, ''), coalesce(provision_state, 'available') FROM nodes;")
	if err != nil {
		return err
	}
	now, seen, t := time.Now(), map[string]change{}, &s.truth
	for line := range strings.Lines(text) {
		if row := strings.Split(strings.TrimSuffix(line, "\n"), "|"); len(row) == 3 {
			seen[row[0]] = change{uuid: row[0], name: row[1], state: row[2]}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for uuid, before := range t.last {
		if _, there := seen[uuid]; !there {
			t.changes = append(t.changes, change{now, uuid, before.name, ""})
		}
	}
	for uuid, c := range seen {
		if t.last[uuid] != c {
			t.changes = append(t.changes, change{now, uuid, c.name, c.state})
		}
	}
	t.last = seen
	return nil
}

// changes are all changes until now, in the order of the samples that saw them.
func (s *storm) changes() []change {
	s.truth.mu.Lock()
	defer s.truth.mu.Unlock()
	return slices.Clone(s.truth.changes)
}
