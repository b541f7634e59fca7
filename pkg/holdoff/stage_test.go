package holdoff_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// begin is when the process of a stage starts, and hold its FAILED_HOST_HOLDOFF.
var begin = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

const hold = 4 * time.Hour

// stage is a Book and its clock.
type stage struct {
	t   *testing.T
	b   *holdoff.Book
	now time.Time
	cfg holdoff.Config
}

// newStage is a stage with a ledger that is empty, and hold.
func newStage(t *testing.T, change ...func(*holdoff.Config)) *stage {
	t.Helper()
	return stageOf(t, true, change...)
}

func stageOf(t *testing.T, known bool, change ...func(*holdoff.Config)) *stage {
	t.Helper()
	s := &stage{t: t, now: begin, cfg: holdoff.DefaultConfig()}
	s.cfg.Timeout = hold
	for _, c := range change {
		c(&s.cfg)
	}
	s.b = s.book(s.cfg, known)
	return s
}

func (s *stage) book(cfg holdoff.Config, known bool) *holdoff.Book {
	s.t.Helper()
	b, err := holdoff.New(cfg, s.now, known)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

func remediate(c *holdoff.Config) { c.Stage = holdoff.Remediate }
func off(c *holdoff.Config)       { c.Timeout = 0 }

func (s *stage) wait(d time.Duration) { s.now = s.now.Add(d) }

func (s *stage) configure(change func(*holdoff.Config)) {
	s.t.Helper()
	change(&s.cfg)
	if err := s.b.Configure(s.now, s.cfg); err != nil {
		s.t.Fatal(err)
	}
}

// failure number n of host a: a deployment.
func failure(n int) holdoff.Failure {
	return holdoff.Failure{
		UUID: "a", Name: "metal3~a", State: "deploy failed", Token: fmt.Sprint("token ", n), Kind: holdoff.Deployment,
		Cause: "no route to host",
	}
}

// fails enters f and returns its episode, which must be new.
func (s *stage) fails(f holdoff.Failure) string {
	s.t.Helper()
	id, fresh := s.b.Failed(s.now, f)
	if !fresh || id == "" {
		s.t.Errorf("failure %q: fresh %v", id, fresh)
	}
	return id
}

// provision is the ask that a failed host comes back with, once BMO has cleaned it.
func provision() holdoff.Ask {
	return holdoff.Ask{UUID: "a", Name: "metal3~a", Op: api.OpProvision, BMHState: api.BMHAvailable, NodeState: "available"}
}

// isHeld asks and compares what is left.
func (s *stage) isHeld(a holdoff.Ask, left time.Duration) holdoff.Verdict {
	s.t.Helper()
	peek, _ := s.b.Peek(s.now, a)
	v := s.b.Ask(s.now, a)
	if diff := cmp.Diff(peek, v); diff != "" {
		s.t.Errorf("Peek differs from Ask: %s", diff)
	}
	if !v.Held || v.Wait != left || !v.Until.Equal(s.now.Add(left)) || v.Episode == "" || v.Failures < 1 || v.Kind == "" {
		s.t.Errorf("after %v: %+v, want held for %v", s.now.Sub(begin), v, left)
	}
	return v
}

// isFree asks and wants nothing to wait for.
func (s *stage) isFree(a holdoff.Ask) {
	s.t.Helper()
	peek, _ := s.b.Peek(s.now, a)
	if v := s.b.Ask(s.now, a); v != (holdoff.Verdict{}) || peek != v {
		s.t.Errorf("after %v: %+v (Peek %+v), want nothing", s.now.Sub(begin), v, peek)
	}
}

// save keeps what is unsaved and returns it.
func (s *stage) save() holdoff.Batch {
	batch := s.b.Unsaved(s.now)
	s.b.Saved(batch)
	return batch
}

// restart begins a new Book with the records of disk, read as a Store reads them.
func (s *stage) restart(disk map[string]holdoff.Record) {
	s.t.Helper()
	s.b = s.book(s.cfg, true)
	var records []holdoff.Record
	for _, r := range disk {
		records = append(records, reread(s.t, r))
	}
	s.b.Restore(s.now, records)
}

// reread is r after it was written and read.
func reread(t interface {
	Helper()
	Fatal(...any)
}, r holdoff.Record) holdoff.Record {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := holdoff.ParseRecord(data)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// keep enters batch in disk.
func keep(disk map[string]holdoff.Record, batch holdoff.Batch) {
	for _, r := range batch.Puts {
		disk[r.UUID] = r
	}
	for _, uuid := range batch.Deletes {
		delete(disk, uuid)
	}
}
