package slots_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// R9: a look that began before the PUT shows the old failure again.
func TestR9_AnOldFailureIsCountedTwice(t *testing.T) {
	s := newStage(t, 4)
	s.is(1, ironic.Deploying)
	s.look()
	s.is(1, ironic.DeployFailed)
	s.after(5 * time.Second)
	s.look()
	fails := func() int {
		r, _ := s.l.Check(s.now, by(1, api.OpProvision)).Ref()
		return r.Failures()
	}
	t.Logf("failures %d", fails())
	before := fails()
	s.looks(2 * time.Minute)
	mark := s.l.Begin(s.now) // the poll begins
	put := s.put(1, ironic.TargetActive, false)
	s.l.Answered(s.now, put, 202)
	s.l.ObserveNode(s.now, ironic.Sight{Key: uuid(1), Mark: mark, Found: true, Node: *s.nodes[uuid(1)]}) // as it was before the PUT
	s.is(1, ironic.Deploying)
	s.look()
	if got := fails(); got != before {
		t.Errorf("failures %d, want %d: nothing has failed since", got, before)
	}
}
