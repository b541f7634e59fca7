package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// leaving is a way in which a request stands when the gateway ends.
type leaving struct {
	name    string
	text    func(s *stage) string
	prepare func(s *stage)
	sent    bool // its PUT reached Ironic
}

// standing are all of them: what the request waits for.
func standing() []leaving {
	put := func(s *stage) string { return s.putText(0, ironic.TargetActive) }
	known := func(s *stage) { s.letIn() }
	trouble := func(f fakeironic.Fault) func(s *stage) {
		return func(s *stage) {
			known(s)
			s.fault(f)
		}
	}
	hour := time.Hour
	return []leaving{
		{"its head", func(*stage) string { return "PUT /v1/no" }, known, false},
		{"its body", func(s *stage) string { return requestText("PUT", s.provision(0), 100, "{") }, known, false},
		{"its body in chunks", func(s *stage) string {
			return requestText("PUT", s.provision(0), -1, "9\r\n{", "Transfer-Encoding: chunked")
		}, known, false},
		{"whether it is let in", put, func(s *stage) { s.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: hour, Requests: "node"}) }, false},
		{"the same, for a little too long", put, func(s *stage) {
			late := drainTimeout + cutTimeout + time.Second
			s.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: late, Requests: "node", Count: 1})
		}, false},
		{"the fetch", put, func(s *stage) {
			known(s)
			s.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: hour, Requests: "node"})
		}, false},
		{"a place", put, func(s *stage) {
			known(s)
			s.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: hour, Path: "/v1/drivers"})
			for range upstreamConns {
				s.call(getText("/v1/drivers"))
			}
			synctest.Wait()
		}, false},
		{"a connection", put, func(s *stage) { known(s); s.dialSlowly(30 * time.Second) }, false},
		{"an answer", put, trouble(fakeironic.Fault{Trouble: fakeironic.SlowAfter, Delay: hour, Requests: "put"}), true},
		{"an answer to a GET", func(*stage) string { return getText("/v1/nodes") }, trouble(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: hour, Requests: "list"}), false},
		{"its client, which reads nothing", func(*stage) string { return getText("/v1/long") }, known, false},
	}
}

// Whatever the requests wait for, all is over in time: the next one to lead must not
// meet a PUT of ours.
func TestServeEndsInTimeWhateverWaits(t *testing.T) {
	for _, row := range standing() {
		t.Run(row.name, func(t *testing.T) { playLeaving(t, row) })
	}
}

func playLeaving(t *testing.T, row leaving) {
	t.Helper()
	play(t, options{limit: 1, nodes: 1, behind: longAnswers}, func(s *stage) {
		row.prepare(s)
		s.call(row.text(s))
		synctest.Wait()
		begin := time.Now()
		s.stop()
		if err := <-s.ended; row.sent && (err == nil || !strings.Contains(err.Error(), "requests were cut")) {
			s.Error(err)
		}
		if took := time.Since(begin); took > drainTimeout+cutTimeout {
			s.Errorf("the end took %v", took)
		}
		if n := s.gate.Stats().InFlight; n != 0 {
			s.Errorf("%d requests are still in flight", n)
		}
		s.roomIsFree()
		s.ironic.ClearFault(0)
		s.settled(row.sent)
	})
}

// settled wants that nothing of ours holds a slot any more: only the node's own work,
// or for a while that nobody knows.
func (s *stage) settled(sent bool) {
	s.Helper()
	state := s.state(0)
	<-time.After(time.Minute) // for what could still come
	if now := s.state(0); !sent && now != ironic.Available || sent && state != ironic.Deploying {
		s.Errorf("the node is %s, and later %s", state, now)
	}
	if !sent {
		s.occupied(0)
		return
	}
	s.ironic.With(func(now time.Time, world *fakeironic.World) {
		if err := world.SetState(now, s.uuids[0], ironic.Available, false); err != nil {
			s.Fatal(err)
		}
	})
	s.pass(0)
	s.pass(61 * time.Second)
	s.occupied(0) // a flight that never landed would hold it for ever
}
