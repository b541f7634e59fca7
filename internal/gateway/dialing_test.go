package gateway_test

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/admission"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// dialSlowly makes connections to Ironic take a while: a handshake on a bad line.
func (s *stage) dialSlowly(d time.Duration) {
	s.back.dialing = func(context.Context) error {
		<-time.After(d)
		return nil
	}
}

// notSent wants nothing left of a PUT a good while later, and the node free to be
// asked for again.
func (s *stage) notSent() {
	s.Helper()
	<-time.After(time.Minute)
	s.poll()
	if s.state(0) != ironic.Available {
		s.Errorf("it was sent: the node is %s", s.state(0))
	}
	if slots := s.controller.Status(time.Now()).Slots.Total; slots.Occupied != 0 || slots.Waiting != 0 {
		s.Errorf("left of it: %+v", slots)
	}
	s.roomIsFree()
	s.back.dialing, s.back.wrap = nil, nil
	s.ask(s.putText(0, ironic.TargetActive), http.StatusAccepted, 0)
	s.occupied(1)
}

// deadConn breaks at the first write after kill.
type deadConn struct {
	net.Conn
	kill *atomic.Bool
}

func (c deadConn) Write(p []byte) (int, error) {
	if c.kill.Load() {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(p)
}

// A kept connection may turn out dead, and net/http makes another one.
func TestWhatIsNotDialedInTimeIsNotSent(t *testing.T) {
	for what, row := range map[string]struct {
		dialing time.Duration // 0: refused
		leaves  bool          // its client, meanwhile
		kept    bool          // there is a connection, which is dead
		status  int
	}{
		"its client goes":        {5 * time.Second, true, false, 0},
		"too late":               {maxAge + time.Second, false, false, http.StatusConflict},
		"refused":                {0, false, false, http.StatusBadGateway},
		"again, its client goes": {5 * time.Second, true, true, 0},
		"again, too late":        {maxAge + time.Second, false, true, http.StatusConflict},
	} {
		play(t, options{limit: 1, nodes: 1}, func(s *stage) {
			s.letIn()
			if row.kept {
				var kill atomic.Bool
				s.back.wrap = func(near net.Conn) net.Conn { return deadConn{near, &kill} }
				s.ask(getText("/v1/nodes"), http.StatusOK, 0) // makes it
				s.back.wrap = nil
				kill.Store(true)
			}
			s.back.dialing = func(context.Context) error { return syscall.ECONNREFUSED }
			if row.dialing > 0 {
				s.dialSlowly(row.dialing)
			}
			c := s.call(s.putText(0, ironic.TargetActive))
			if row.leaves {
				<-time.After(time.Second)
				s.occupied(1) // it has its yes
				_ = c.Close()
				synctest.Wait()
				s.occupied(0)
			} else if got := c.want(row.status, maxAge).Header.Get(reasonHeader); (got == "starting") != (row.status == http.StatusConflict) {
				s.Errorf("%s: refused for %q", what, got)
			}
			s.notSent()
		})
	}
}

// leaseTTL is how long after its last yes a host that was never seen at work keeps its slot (LH-12).
var leaseTTL = admission.DefaultConfig().Slots.LeaseTTL

// From its first byte on a PUT can start work, so its yes counts from then, however long Ironic took to be dialed.
func TestAYesCountsFromTheFirstByte(t *testing.T) {
	neither := func(http.Handler) http.Handler { // no yes and no error: the lease is left to its time
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSeeOther) })
	}
	play(t, options{limit: 1, nodes: 1, behind: neither}, func(s *stage) {
		s.letIn()
		s.dialSlowly(15 * time.Second)
		s.ask(s.putText(0, ironic.TargetActive), http.StatusSeeOther, 15*time.Second)
		s.pass(leaseTTL - time.Second)
		s.occupied(1)
		s.pass(2 * time.Second)
		s.occupied(0)
	})
}

// After the first byte it is waited for, whether its client is there or not: it may have begun.
func TestWhoGoesAfterTheFirstByteIsNotGivenUp(t *testing.T) {
	play(t, options{limit: 1, nodes: 1}, func(s *stage) {
		s.letIn()
		s.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: 10 * time.Second, Requests: "put"})
		c := s.call(s.putText(0, ironic.TargetActive))
		<-time.After(time.Second)
		_ = c.Close()
		<-time.After(10 * time.Second)
		if s.state(0) != ironic.Deploying {
			t.Errorf("it was cut off: the node is %s", s.state(0))
		}
		s.occupied(1)
		s.logged(0, "level=WARN")
	})
}
